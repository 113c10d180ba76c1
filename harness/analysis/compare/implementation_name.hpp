// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace plumb::analysis {

/// Family and instruction set of an implementation, as far as its name shows them. Between versions
/// of a library, names change while the implementation stays. Family and instruction set change
/// less often.
struct ImplementationName {
  std::string family;           ///< "winograd", "brgemm", "jit_1x1", "gemm", "jit", "reference"…
  std::string instruction_set;  ///< "avx512_core"; empty: not in the name

  auto operator<=>(const ImplementationName&) const = default;
};

/// Returns the family and instruction set in a variant's text: "impl=brg_conv_fwd:avx512_core;…". A
/// text without a known family is its own family.
[[nodiscard]] ImplementationName implementation_name(std::string_view variant);

}  // namespace plumb::analysis
