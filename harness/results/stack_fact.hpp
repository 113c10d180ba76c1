// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb::results {

/// Returns whether a part of an environment's identity is a variable that the stack sets, such as
/// "ONEDNN_MAX_CPU_ISA". These are named in capitals, and no other part is.
[[nodiscard]] inline bool is_variable(std::string_view fact) {
  constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !fact.empty() && fact.find_first_not_of(kCapitals) == std::string_view::npos;
}

/// Returns whether a part of an environment's identity belongs to the stack: the library
/// ("library", "library.isa") and the stack's variables.
[[nodiscard]] inline bool is_of_stack(std::string_view fact) {
  return is_variable(fact) || fact == "library" || fact.starts_with("library.");
}

}  // namespace plumb::results
