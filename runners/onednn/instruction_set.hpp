// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb::onednn {

/// Names an instruction set, bits of dnnl_cpu_isa_t, as ONEDNN_MAX_CPU_ISA does:
/// "AVX512_CORE_BF16"; unknown ones as a hex number.
[[nodiscard]] std::string instruction_set_text(unsigned bits);

/// Tells whether an instruction set, bits of dnnl_cpu_isa_t, adds 8-bit products up in 32 bits.
[[nodiscard]] bool has_vnni(unsigned bits);

/// Tells whether an instruction set, as the library's implementations name it ("avx512_core"), is
/// known and without VNNI. By oneDNN's documentation ("Nuances of int8 computations") such code
/// halves weights or lets sums of 8-bit products saturate at 16 bits, on a CPU with VNNI too.
[[nodiscard]] bool is_before_vnni(std::string_view name);

}  // namespace plumb::onednn
