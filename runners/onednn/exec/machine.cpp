// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/machine.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl_types.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <vector>

namespace plumb::onednn {
namespace {

struct Row {
  unsigned bits;
  std::string_view name;
};

// The entry before the last is newer (3.4) than the headers.
constexpr std::array<Row, 13> kRows{{{dnnl_cpu_isa_sse41, "SSE41"},
                                     {dnnl_cpu_isa_avx, "AVX"},
                                     {dnnl_cpu_isa_avx2, "AVX2"},
                                     {dnnl_cpu_isa_avx2_vnni, "AVX2_VNNI"},
                                     {dnnl_cpu_isa_avx2_vnni_2, "AVX2_VNNI_2"},
                                     {dnnl_cpu_isa_avx512_core, "AVX512_CORE"},
                                     {dnnl_cpu_isa_avx512_core_vnni, "AVX512_CORE_VNNI"},
                                     {dnnl_cpu_isa_avx512_core_bf16, "AVX512_CORE_BF16"},
                                     {dnnl_cpu_isa_avx512_core_fp16, "AVX512_CORE_FP16"},
                                     {dnnl_cpu_isa_avx512_core_amx, "AVX512_CORE_AMX"},
                                     {dnnl_cpu_isa_avx512_core_amx_fp16, "AVX512_CORE_AMX_FP16"},
                                     {0x3fef, "AVX10_1_512_AMX_FP16"},
                                     {0x0, "DEFAULT"}}};

bool same_letters(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) ==
           std::toupper(static_cast<unsigned char>(b));
  });
}

}  // namespace

std::string instruction_set_text(unsigned bits) {
  const auto* const row = std::find_if(
      kRows.begin(), kRows.end(), [&](const Row& known) { return known.bits == bits; });
  return row != kRows.end() ? std::string(row->name) : fmt::format("{:#x}", bits);
}

bool has_vnni(unsigned bits) {
  // The bits that avx2_vnni adds to avx2, and avx512_core_vnni to avx512_core.
  constexpr unsigned kVnni = (dnnl_cpu_isa_avx2_vnni & ~dnnl_cpu_isa_avx2) |
                             (dnnl_cpu_isa_avx512_core_vnni & ~dnnl_cpu_isa_avx512_core);
  return (bits & kVnni) != 0;
}

bool has_f16(unsigned bits) {
  const auto has_all = [bits](unsigned set) { return (bits & set) == set; };
  return has_all(dnnl_cpu_isa_avx512_core_fp16) || has_all(dnnl_cpu_isa_avx2_vnni_2);
}

bool is_before_vnni(std::string_view name) {
  const auto* const row = std::find_if(
      kRows.begin(), kRows.end(), [&](const Row& known) { return same_letters(known.name, name); });
  return row != kRows.end() && row->bits != 0 && !has_vnni(row->bits);
}

namespace {

// Looked up by name, because the stack decides which OpenMP is loaded, if any.
template <typename Function>
Function loaded(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

std::optional<int> openmp_threads() {
  using Get = int (*)();
  static const auto get = loaded<Get>("omp_get_max_threads");
  return get != nullptr ? std::optional(get()) : std::nullopt;
}

std::optional<int> openmp_processors() {
  using Get = int (*)();
  static const auto get = loaded<Get>("omp_get_num_procs");
  return get != nullptr ? std::optional(get()) : std::nullopt;
}

void set_openmp_threads(int count) {
  using Set = void (*)(int);
  static const auto set = loaded<Set>("omp_set_num_threads");
  if (set != nullptr) {
    set(count);
  }
}

void run_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  // How compilers start a parallel region: libgomp has it, and LLVM's and Intel's library as well.
  using Start = void (*)(void (*)(void*), void*, unsigned, unsigned);
  static const auto start = loaded<Start>("GOMP_parallel");
  struct Region {
    const std::function<void(std::size_t)>& work;
    std::size_t count;
    std::atomic<std::size_t> next{0};
    void run() {
      for (std::size_t i = next++; i < count; i = next++) {
        work(i);
      }
    }
  } region{work, count};
  const auto threads = static_cast<std::size_t>(std::max(1, openmp_threads().value_or(1)));
  if (start == nullptr || threads == 1 || count < 2) {
    region.run();
    return;
  }
  start([](void* shared) { static_cast<Region*>(shared)->run(); },
        &region,
        static_cast<unsigned>(std::min(threads, count)),
        0);
}

void move_to_places(int first, int count) {
  using Count = int (*)();
  using CountIn = int (*)(int);
  using Read = void (*)(int, int*);
  static const auto places = loaded<Count>("omp_get_num_places");
  static const auto size = loaded<CountIn>("omp_get_place_num_procs");
  static const auto read = loaded<Read>("omp_get_place_proc_ids");
  if (places == nullptr || size == nullptr || read == nullptr || first + count > places()) {
    return;
  }
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int place = first; place < first + count; ++place) {
    std::vector<int> ids(static_cast<std::size_t>(size(place)));
    read(place, ids.data());
    for (const int id : ids) {
      CPU_SET(static_cast<std::size_t>(id), &processors);
    }
  }
  // A container with fewer processors may refuse; the thread then stays where it is.
  static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof(processors), &processors));
}

OpenmpThreads::OpenmpThreads(int count) : before_(openmp_threads()) {
  set_openmp_threads(count);
}

OpenmpThreads::~OpenmpThreads() {
  if (before_) {
    set_openmp_threads(*before_);
  }
}

}  // namespace plumb::onednn
