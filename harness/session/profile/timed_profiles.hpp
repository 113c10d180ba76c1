// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "harness/results/profile/named_profile.hpp"
#include "harness/session/host/raw_folder.hpp"
#include "harness/session/profile/profiling_record.hpp"
#include "harness/session/work/planned_model.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/worker/client/worker_options.hpp"
#include "harness/worker/protocol/profile_request.hpp"

namespace plumb::session {

/// Samples a second of each thread while it is timed: few, because each costs time that counts.
inline constexpr double kTimedRate = 1000.0;

/// Profiles of a run's models by the blocks whose time counts, over all processes that time them.
class TimedProfiles {
 public:
  /// Keeps references to all arguments.
  TimedProfiles(const SessionContext& context,
                const results::RunId& run,
                const worker::WorkerOptions& worker,
                std::span<const PlannedModel> models)
      : context_(context), run_(run), worker_(worker), models_(models) {}

  /// Returns how the next worker samples. The folder is there until the next call.
  [[nodiscard]] worker::SampledBlocks next_request();
  /// Names the samples of a model, by index, in a mode, and adds them to those of other processes.
  void take(std::size_t index, const results::ExecutionMode& mode, worker::Profile profile);
  /// Stores what was taken of each model and mode. The profile of the mode that says most of a
  /// model is its newest one. Returns the record for `models` models.
  [[nodiscard]] ProfilingRecord store(std::size_t models);

 private:
  const SessionContext& context_;
  const results::RunId& run_;
  const worker::WorkerOptions& worker_;
  std::span<const PlannedModel> models_;
  std::optional<RawFolder> folder_;
  std::map<std::pair<std::size_t, results::ExecutionMode>, results::NamedProfile> profiles_;
};

}  // namespace plumb::session
