// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
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

}  // namespace plumb::onednn
