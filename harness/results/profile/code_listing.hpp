// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/results/profile/block_counts.hpp"
#include "harness/results/profile/code_names.hpp"

namespace plumb::results {

/// Instruction of a function, and the samples at it.
struct ListedInstruction {
  std::uint64_t offset = 0;  ///< bytes from the begin of the function
  std::uint64_t bytes = 0;   ///< of its code
  std::string text;          ///< in the assembler's words
  std::uint64_t samples = 0;
  BlockCounts counts = {};  ///< these samples; empty: not known, of an earlier version
};

/// Instructions of one function of a profile, all or some of them.
struct CodeListing {
  ProfiledFunction function;
  std::string step;                ///< name of the one with most of its samples
  std::uint64_t samples = 0;       ///< of this code
  BlockCounts counts;              ///< these samples; empty: not known, of an earlier version
  std::uint64_t of_profile = 0;    ///< samples of all code
  std::size_t alike = 0;           ///< other code of the same name that has samples
  bool exact = false;              ///< else a sample may lie some instructions late
  std::uint64_t bytes = 0;         ///< of the whole function
  std::uint64_t bytes_listed = 0;  ///< less than all of them: the rest is beyond a limit
  std::size_t disassembled = 0;    ///< instructions that these bytes have
  std::vector<ListedInstruction> instructions;
  std::string problem;  ///< why there are no instructions; empty: there are
};

/// Functions of which a profile keeps listings: the hottest.
inline constexpr std::size_t kMaxListings = 3;
/// Instructions that a stored listing keeps at most: no more can have 1 % of the samples.
inline constexpr std::size_t kMaxKeptInstructions = 100;

/// Leaves those instructions that have at least 1 % of the samples, and two before and after each.
/// Where these are more than `most`, it leaves fewer around the hot ones, then the hottest. Pure.
[[nodiscard]] CodeListing shorten_listing(CodeListing listing, std::size_t most);

}  // namespace plumb::results
