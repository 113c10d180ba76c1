// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/results/run.hpp"

namespace plumb::results {

/// Number of no step.
inline constexpr std::uint32_t kNoStep = std::numeric_limits<std::uint32_t>::max();

/// Number of no chain of calls.
inline constexpr std::uint32_t kNoChain = std::numeric_limits<std::uint32_t>::max();

/// Addresses to which the calls of a sample return, that of the innermost call first.
using CallChain = std::vector<std::uint64_t>;

/// Samples of a program's executions, as a worker took them. Their addresses have no names yet.
struct SampledProfile {
  /// Samples in one block of a profile.
  struct BlockCount {
    std::uint32_t block = 0;
    std::uint32_t samples = 0;

    bool operator==(const BlockCount&) const = default;
  };

  /// What interrupts a thread for a sample.
  enum class Clock {
    kCycles,    ///< the processor's counter of cycles
    kCpuClock,  ///< the kernel's clock of the time that the thread runs
    kThread,    ///< a thread on another processor; a thread that waits is left out
    kTimer,     ///< a timer of elapsed time; a sample without running in between is left out
  };

  /// Place of one thread at one time.
  struct Sample {
    std::uint64_t address = 0;  ///< of the next instruction
    std::uint32_t step = kNoStep;
    std::uint32_t block = 0;         ///< of executions, see SampledProfile::Block
    std::uint32_t thread = 0;        ///< 0: the one that executes the steps
    std::uint32_t chain = kNoChain;  ///< of calls that led there
  };

  /// Part of a process's memory that holds code.
  struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;     ///< after the last byte
    std::uint64_t offset = 0;  ///< of the begin in the file
    std::string path;          ///< as the kernel names it; empty: no file
    std::string build_id;      ///< of the file, as hexadecimal digits; empty: it has none
  };

  /// Step of a program that was profiled.
  struct Step {
    std::vector<std::size_t> layers;  ///< of the model, ascending; empty: makes outputs dense
    std::string key;                  ///< of the one layer that they become
    std::string variant;
    bool reorder = false;  ///< only converts a layout
  };

  /// Executions with samples, and as many without, one after the other.
  struct Block {
    std::uint32_t executions = 0;  ///< of each kind
    Seconds sampled{};             ///< all executions with samples
    Seconds unsampled{};           ///< all executions without; zero: there were none

    /// Returns the time of the executions: of those without samples, where there are any.
    [[nodiscard]] Seconds executed() const {
      return unsampled > Seconds(0.0) ? unsampled : sampled;
    }
  };

  Clock clock = Clock::kTimer;
  std::string refused;        ///< why there is no better clock; empty: there is none
  double asked_rate = 0.0;    ///< samples a second of each thread
  double rate = 0.0;          ///< that the executing thread had
  std::uint64_t threads = 1;  ///< that were sampled
  std::uint64_t lost = 0;     ///< samples for which there was no room
  std::vector<Step> steps;
  std::vector<Block> blocks;
  std::vector<Mapping> mappings;  ///< by address
  std::vector<Sample> samples;
  std::vector<CallChain> chains;  ///< each once; empty: not asked for, or the clock has none
  bool exact = false;             ///< addresses are those of the interrupted instructions
};

/// Returns the name of a clock: "cycles", "cpu-clock", "thread" or "timer".
[[nodiscard]] std::string_view to_text(SampledProfile::Clock clock);

/// Returns the clock of a name. Absent: there is no such clock.
[[nodiscard]] std::optional<SampledProfile::Clock> sampling_clock_from(std::string_view text);

/// Samples by block, ascending, none of them zero.
using BlockCounts = std::vector<SampledProfile::BlockCount>;

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

/// Functions of which a profile keeps listings: the hottest.
inline constexpr std::size_t kMaxListings = 3;
/// Instructions that a stored listing keeps at most.
inline constexpr std::size_t kMaxKeptInstructions = 100;

/// Profile of a model's executions whose samples have names.
struct NamedProfile {
  /// Functions of sampled addresses, and of those before which their calls return.
  struct CodeNames {
    /// Function, as a profile names it.
    struct Function {
      std::string name;  ///< empty: its image has no symbol there
      std::string
          image;  ///< name of its file, kGeneratedImage, or what the kernel calls the mapping
      std::string build_id = {};  ///< of its file, as hexadecimal digits; empty: it has none

      auto operator<=>(const Function&) const = default;
    };

    std::vector<Function> functions;
    std::vector<std::pair<std::uint64_t, std::uint32_t>>
        addresses;                      ///< each with its function, sorted
    std::vector<std::string> problems;  ///< files without symbols, and why

    /// Returns the number of an address's function. The address is one of the list.
    [[nodiscard]] std::uint32_t function_at(std::uint64_t address) const {
      return std::lower_bound(addresses.begin(), addresses.end(), std::pair(address, 0U))->second;
    }
  };

  /// Instructions of one function of a profile, all or some of them.
  struct Listing {
    /// Instruction of a function, and the samples at it.
    struct Instruction {
      std::uint64_t offset = 0;  ///< bytes from the begin of the function
      std::uint64_t bytes = 0;   ///< of its code
      std::string text;          ///< in the assembler's words
      std::uint64_t samples = 0;
      BlockCounts counts = {};  ///< these samples; empty: not known, of an earlier version
    };

    CodeNames::Function function;
    std::string step;                ///< name of the one with most of its samples
    std::uint64_t samples = 0;       ///< of this code
    BlockCounts counts;              ///< these samples; empty: not known, of an earlier version
    std::uint64_t of_profile = 0;    ///< samples of all code
    std::size_t alike = 0;           ///< other code of the same name that has samples
    bool exact = false;              ///< else a sample may lie some instructions late
    std::uint64_t bytes = 0;         ///< of the whole function
    std::uint64_t bytes_listed = 0;  ///< less than all of them: the rest is beyond a limit
    std::size_t disassembled = 0;    ///< instructions that these bytes have
    std::vector<Instruction> instructions;
    std::string problem;  ///< why there are no instructions; empty: there are
  };

  /// Samples of one function in one step.
  struct Cell {
    using Count = SampledProfile::BlockCount;
    std::uint32_t step = kNoStep;
    std::uint32_t function = 0;
    BlockCounts counts;
  };

  /// Calls that led to samples of a thread in a step.
  struct Stack {
    std::uint32_t step = kNoStep;
    std::vector<std::uint32_t> functions;  ///< outermost first; the last one has the samples
    std::uint64_t samples = 0;
    std::uint32_t thread = 0;  ///< 0: the one that executes the steps
  };

  /// Run whose profile is part of a merged one.
  struct Run {
    std::string run;  ///< its id
    Timestamp started{};
    std::string environment;   ///< its identity, the same of all runs that are merged
    std::uint64_t blocks = 0;  ///< of the merged profile
  };

  std::string model;  ///< on one line, with its batch and type
  std::string mode;
  std::string stack;
  SampledProfile::Clock clock = SampledProfile::Clock::kTimer;
  std::string refused;      ///< as in SampledProfile
  double asked_rate = 0.0;  ///< as in SampledProfile
  double rate = 0.0;        ///< as in SampledProfile
  std::uint64_t threads = 1;
  std::uint64_t lost = 0;
  std::vector<SampledProfile::Step> steps;
  std::vector<std::string> step_names;  ///< by step
  std::vector<SampledProfile::Block> blocks;
  std::vector<CodeNames::Function> functions;
  std::vector<Cell> cells;  ///< one for each step and function that has samples
  /// Of all samples. Empty: they are of one thread, without calls, or the profile is from a store.
  std::vector<Stack> stacks;
  std::vector<Listing> listings;      ///< of the functions with most samples, these first
  std::vector<std::string> problems;  ///< files without symbols, and why
  /// Runs that the blocks are of, in their order: merged. Empty: they are of one run.
  std::vector<Run> runs;
  /// Blocks of each process, in their order. Empty: one process has all, or it is not known.
  std::vector<std::uint64_t> processes;
};

/// Leaves the fewest instructions that have nine tenths of the samples together, and two before and
/// after each. Where these are more than `most`, it leaves fewer around the hot ones, then the
/// hottest. Pure.
[[nodiscard]] NamedProfile::Listing shorten_listing(NamedProfile::Listing listing,
                                                    std::size_t most);

/// Profile that a run keeps of one of its models.
struct StoredProfile {
  RunId run;
  std::string subject;  ///< of the model, as the run's executions have it
  Timestamp taken{};    ///< when it was complete
  NamedProfile profile;
};

/// Blocks that a stored profile needs at most: a bootstrap draws no more groups of them.
inline constexpr std::size_t kMaxStoredBlocks = 200;

/// Returns whether a profile's processes have all of its blocks, and each at least one. None are
/// told apart: true. Pure.
[[nodiscard]] bool has_whole_processes(const NamedProfile& profile);

/// Returns a profile whose listings have their hot instructions alone. Pure.
[[nodiscard]] NamedProfile condense_listings(NamedProfile profile);

/// Returns what a store keeps of a profile. Consecutive blocks of a process are joined, so that at
/// most `blocks` are left. Where these are fewer than the processes, those of several are joined,
/// and processes are no longer told apart. Listings are condensed. Pure.
[[nodiscard]] NamedProfile condense_profile(NamedProfile profile,
                                            std::size_t blocks = kMaxStoredBlocks);

/// Encodes blocks of executions: for each, its number as a varint and both times as doubles.
[[nodiscard]] std::string encode_blocks(const std::vector<SampledProfile::Block>& blocks);
/// Decodes what encode_blocks() wrote. Absent: the bytes are anything else.
[[nodiscard]] std::optional<std::vector<SampledProfile::Block>> decode_blocks(
    std::string_view bytes);

/// Encodes samples by block as pairs of varints: the distance to the block before, and the samples.
[[nodiscard]] std::string encode_counts(const std::vector<NamedProfile::Cell::Count>& counts);
/// Decodes what encode_counts() wrote for a profile of so many blocks. Absent: the bytes are
/// anything else.
[[nodiscard]] std::optional<std::vector<NamedProfile::Cell::Count>> decode_counts(
    std::string_view bytes, std::size_t blocks);

}  // namespace plumb::results
