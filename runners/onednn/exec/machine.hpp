// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/units.hpp"

namespace plumb::onednn {

/// Names an instruction set, given as bits of dnnl_cpu_isa_t. The names are those of
/// ONEDNN_MAX_CPU_ISA: "AVX512_CORE_BF16". Unknown sets become a hex number.
[[nodiscard]] std::string instruction_set_text(unsigned bits);

/// Returns whether an instruction set sums 8-bit products in 32 bits. `bits` are of dnnl_cpu_isa_t.
[[nodiscard]] bool has_vnni(unsigned bits);

/// Returns whether oneDNN multiplies f16 with an instruction set. `bits` are of dnnl_cpu_isa_t.
[[nodiscard]] bool has_f16(unsigned bits);

/// Returns whether a named instruction set ("avx512_core") is known and lacks VNNI. By oneDNN's
/// documentation ("Nuances of int8 computations") such code halves weights or lets sums of 8-bit
/// products saturate at 16 bits, on a CPU with VNNI too.
[[nodiscard]] bool is_before_vnni(std::string_view name);

/// Returns how much memory the machine has.
inline Bytes physical_memory() {
  return Bytes{static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)};
}

/// Returns how many threads the library starts from the calling thread. Returns nothing if they are
/// not OpenMP's.
[[nodiscard]] std::optional<int> openmp_threads();

/// Returns how many processors OpenMP's threads may use. Returns nothing if they are not OpenMP's.
[[nodiscard]] std::optional<int> openmp_processors();

/// Sets openmp_threads() for the calling thread only. Does nothing where it is absent.
void set_openmp_threads(int count);

/// Calls `work` with each number below `count`, on up to as many threads as the library would
/// start. Without OpenMP the calling thread does it all. `work` must not throw.
void run_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

/// Lets the calling thread run only on the processors of `count` of OpenMP's places, from `first`
/// on. Otherwise a thread that a bound thread starts would stay on its place. Does nothing where
/// threads are not bound.
void move_to_places(int first, int count);

/// Scope in which the calling thread has another openmp_threads().
class OpenmpThreads {
 public:
  explicit OpenmpThreads(int count);
  ~OpenmpThreads();
  OpenmpThreads(const OpenmpThreads&) = delete;
  OpenmpThreads& operator=(const OpenmpThreads&) = delete;
  OpenmpThreads(OpenmpThreads&&) = delete;
  OpenmpThreads& operator=(OpenmpThreads&&) = delete;

 private:
  std::optional<int> before_;
};

}  // namespace plumb::onednn
