// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::results {

/// What interrupts a thread for a sample.
enum class SamplingClock {
  kCycles,    ///< the processor's counter of cycles
  kCpuClock,  ///< the kernel's clock of the time that the thread runs
  kThread,    ///< a thread on another processor; a thread that waits is left out
  kTimer,     ///< a timer of elapsed time; a sample without running in between is left out
};

/// Returns the name of a clock: "cycles", "cpu-clock", "thread" or "timer".
[[nodiscard]] std::string_view to_text(SamplingClock clock);
/// Returns the clock of a name. Absent: there is no such clock.
[[nodiscard]] std::optional<SamplingClock> sampling_clock_from(std::string_view text);

/// Number of no step.
inline constexpr std::uint32_t kNoStep = std::numeric_limits<std::uint32_t>::max();

/// Number of no chain of calls.
inline constexpr std::uint32_t kNoChain = std::numeric_limits<std::uint32_t>::max();

/// Place of one thread at one time.
struct AddressSample {
  std::uint64_t address = 0;  ///< of the next instruction
  std::uint32_t step = kNoStep;
  std::uint32_t block = 0;         ///< of executions, see ProfiledBlock
  std::uint32_t thread = 0;        ///< 0: the one that executes the steps
  std::uint32_t chain = kNoChain;  ///< of calls that led there
};

/// Addresses to which the calls of a sample return, that of the innermost call first.
using CallChain = std::vector<std::uint64_t>;

/// Part of a process's memory that holds code.
struct CodeMapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;     ///< after the last byte
  std::uint64_t offset = 0;  ///< of the begin in the file
  std::string path;          ///< as the kernel names it; empty: no file
  std::string build_id;      ///< of the file, as hexadecimal digits; empty: it has none
};

/// Step of a program that was profiled.
struct ProfiledStep {
  std::vector<std::size_t> layers;  ///< of the model, ascending; empty: makes outputs dense
  std::string key;                  ///< of the one layer that they become
  std::string variant;
  bool reorder = false;  ///< only converts a layout
};

/// Executions with samples, and as many without, one after the other.
struct ProfiledBlock {
  std::uint32_t executions = 0;  ///< of each kind
  Seconds sampled{};             ///< all executions with samples
  Seconds unsampled{};           ///< all executions without; zero: there were none

  /// Returns the time of the executions: of those without samples, where there are any.
  [[nodiscard]] Seconds executed() const { return unsampled > Seconds(0.0) ? unsampled : sampled; }
};

/// Samples of a program's executions, as a worker took them. Their addresses have no names yet.
struct SampledProfile {
  SamplingClock clock = SamplingClock::kTimer;
  std::string refused;        ///< why there is no better clock; empty: there is none
  double asked_rate = 0.0;    ///< samples a second of each thread
  double rate = 0.0;          ///< that the executing thread had
  std::uint64_t threads = 1;  ///< that were sampled
  std::uint64_t lost = 0;     ///< samples for which there was no room
  std::vector<ProfiledStep> steps;
  std::vector<ProfiledBlock> blocks;
  std::vector<CodeMapping> mappings;  ///< by address
  std::vector<AddressSample> samples;
  std::vector<CallChain> chains;  ///< each once; empty: not asked for, or the clock has none
  bool exact = false;             ///< addresses are those of the interrupted instructions
};

}  // namespace plumb::results
