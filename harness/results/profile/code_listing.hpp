// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/results/profile/code_names.hpp"

namespace plumb::results {

/// Instruction of a function, and the samples at it.
struct ListedInstruction {
  std::uint64_t offset = 0;  ///< bytes from the begin of the function
  std::string text;          ///< in the assembler's words
  std::uint64_t samples = 0;
};

/// Instructions of one function of a profile.
struct CodeListing {
  ProfiledFunction function;
  std::uint64_t samples = 0;       ///< of this code
  std::uint64_t of_profile = 0;    ///< samples of all code
  std::size_t alike = 0;           ///< other code of the same name that has samples
  bool exact = false;              ///< else a sample may lie some instructions late
  std::uint64_t bytes = 0;         ///< of the whole function
  std::uint64_t bytes_listed = 0;  ///< less than all of them: the rest is beyond a limit
  std::vector<ListedInstruction> instructions;
};

}  // namespace plumb::results
