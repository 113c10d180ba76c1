// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/profile/sampled_profile.hpp"
#include "harness/worker/protocol/execute_request.hpp"

namespace plumb::worker {

/// Fact of a worker whose threads can be sampled while it executes a model
/// (WorkerService::profile()): what is sampled. Absent: nothing can be.
inline constexpr const char* kSamplingFact = "measure.sampling";

/// Request to execute one model in one mode, or one layer alone, while a profiler samples it.
struct ProfileRequest {
  ExecuteRequest model;  ///< with exactly one mode; of a layer, `seed` alone counts
  std::string layer;     ///< key; executed by the library's choice in place of a model; empty: none
  std::filesystem::path folder;  ///< exists; the library writes the code that it makes there
  double rate = 1000.0;          ///< samples a second of each thread
  Seconds budget{10.0};          ///< of all executions, half of them without samples
  /// For the whole, with the model's preparation. Absent: any time. Refused if it is too short for
  /// kLeastProfilePairs pairs of blocks.
  std::optional<Seconds> within;
  std::optional<results::SamplingClock> clock;  ///< absent: the best that the machine has
  bool chains = false;                          ///< samples have chains of calls
};

/// Samples of a model's executions.
struct Profile {
  results::SampledProfile samples;
  std::vector<std::string> code_files;  ///< jitdumps and a perf map in the folder of the request
};

/// Limits of a profile and of its request.
inline constexpr std::size_t kLeastProfilePairs = 6;  ///< so that shares have intervals
inline constexpr double kMinSamplingRate = 1.0;
inline constexpr double kMaxSamplingRate = 20'000.0;
inline constexpr Seconds kMaxProfileBudget{3600.0};
inline constexpr std::size_t kMaxProfileSamples = 2'000'000;
inline constexpr std::size_t kMaxProfileSteps = 100'000;
inline constexpr std::size_t kMaxProfileBlocks = 100'000;
inline constexpr std::size_t kMaxCodeMappings = 10'000;
inline constexpr std::size_t kMaxCodeFiles = 16;
inline constexpr std::size_t kMaxCallChains = 200'000;
inline constexpr std::size_t kMaxCallDepth = 32;
inline constexpr std::size_t kMaxProfileTextBytes = 4096;  ///< of a path, a variant or a reason

}  // namespace plumb::worker
