// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/machine.hpp"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl_types.h>

#include <algorithm>
#include <array>
#include <cctype>

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

}  // namespace plumb::onednn
