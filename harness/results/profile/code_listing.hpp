// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plumb::results {

/// Samples in one block of a profile.
struct BlockCount {
  std::uint32_t block = 0;
  std::uint32_t samples = 0;

  bool operator==(const BlockCount&) const = default;
};

/// Samples by block, ascending, none of them zero.
using BlockCounts = std::vector<BlockCount>;

/// Adds samples of a block. Blocks that do not ascend are left for order_blocks().
void add_samples(std::uint32_t block, std::uint32_t samples, BlockCounts& counts);
/// Sorts counts by block, with one for each.
void order_blocks(BlockCounts& counts);
/// Adds counts to others, with the number of their blocks raised by `first_block`.
void append_blocks(const BlockCounts& more, std::uint32_t first_block, BlockCounts& counts);
/// Returns the counts where each block became part of the one in `joined`, which ascends.
[[nodiscard]] BlockCounts join_blocks(const BlockCounts& counts,
                                      const std::vector<std::uint32_t>& joined);
/// Returns the samples of all blocks.
[[nodiscard]] std::uint64_t count_samples(const BlockCounts& counts);

/// Image of code that a library made at run time.
inline constexpr const char* kGeneratedImage = "generated";

/// Image of an address at which there was no code.
inline constexpr const char* kUnmappedImage = "unmapped";

/// Function, as a profile names it.
struct ProfiledFunction {
  std::string name;   ///< empty: its image has no symbol there
  std::string image;  ///< name of its file, kGeneratedImage, or what the kernel calls the mapping
  std::string build_id = {};  ///< of its file, as hexadecimal digits; empty: it has none

  auto operator<=>(const ProfiledFunction&) const = default;
};

/// Functions of sampled addresses, and of those before which their calls return.
struct CodeNames {
  std::vector<ProfiledFunction> functions;
  std::vector<std::pair<std::uint64_t, std::uint32_t>>
      addresses;                      ///< each with its function, sorted
  std::vector<std::string> problems;  ///< files without symbols, and why

  /// Returns the number of an address's function. The address is one of the list.
  [[nodiscard]] std::uint32_t function_at(std::uint64_t address) const {
    return std::lower_bound(addresses.begin(), addresses.end(), std::pair(address, 0U))->second;
  }
};

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
