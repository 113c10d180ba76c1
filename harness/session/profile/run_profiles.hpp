// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/results/profile/named_profile.hpp"
#include "harness/results/profile/sampled_profile.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/profile/stored_profiles.hpp"
#include "harness/session/work/mode_requests.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/client/worker_process.hpp"
#include "harness/worker/client/worker_start.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {

/// Samples of a model's executions, and where the code lies that was made meanwhile.
struct SampledModel {
  results::SampledProfile samples;
  std::vector<std::filesystem::path> dumps;  ///< jitdumps, and perf maps named `.map`
};

/// Executes a model in a worker of its own that samples it. The request's folder exists, and
/// `timeout` is beside its budget. The worker's start counts to the time that the whole may take.
/// Throws WorkerDied, and Error{kUser} if the model cannot be profiled so.
[[nodiscard]] SampledModel sample_model(const worker::WorkerOptions& options,
                                        const worker::ProfileRequest& request,
                                        Seconds timeout,
                                        const std::function<bool()>& keep_running);

/// Names the samples of a planned model in a mode, and lists the hottest code in full.
[[nodiscard]] results::NamedProfile name_profile(const SampledModel& sampled,
                                                 const worker::WorkerOptions& options,
                                                 const results::ExecutionMode& mode,
                                                 const PlannedModel& planned);

/// Samples a model, and names the samples.
[[nodiscard]] results::NamedProfile profile_model(const worker::WorkerOptions& options,
                                                  const worker::ProfileRequest& request,
                                                  Seconds timeout,
                                                  const PlannedModel& planned,
                                                  const std::function<bool()>& keep_running);

/// When models are profiled.
enum class ProfiledTime {
  kNever,
  kPass,    ///< after they were timed, in a pass of its own
  kAlways,  ///< while they are timed, which makes their times no points of a history
};

/// Returns how much a mode says of a run's models: the higher, the better.
[[nodiscard]] int rank_profiled_mode(const results::ExecutionMode& mode);

/// Share of a run's time that its pass may take.
inline constexpr double kPassShare = 0.01;
/// Samples a second of each thread. No time that counts is disturbed, so they may be dense.
inline constexpr double kPassRate = 4000.0;

/// Workers of a run.
struct RunWorkers {
  const worker::WorkerOptions& options;
  Seconds longest_start{};  ///< of a process with its library
};

/// Pass of a run that profiles its models, each in a worker of its own.
class RunProfiles {
 public:
  /// Keeps references to all arguments but `modes`. The run has executed the models.
  RunProfiles(const SessionContext& context,
              const results::RunId& run,
              const RunWorkers& workers,
              const suite::ResolvedSuite& suite,
              std::span<const PlannedModel> models,
              WantedModes modes)
      : context_(context),
        run_(run),
        workers_(workers),
        suite_(suite),
        models_(models),
        modes_(std::move(modes)) {}

  /// Profiles the chosen models, by index, and stores the profiles. Each is executed in the mode
  /// fusion if the run timed it, else plain, else another one. It is left out if preparing it and
  /// the fewest useful samples would take longer than is left of `allowed`. What that takes is
  /// first expected by the run's own times, then by the profiles before it. A worker that is still
  /// at work when `allowed` ends is killed. A random order gives each its turn over many runs. A
  /// model that cannot be profiled is logged. Models that have a profile keep it.
  [[nodiscard]] ProfilingRecord take(std::vector<std::size_t> chosen, Seconds allowed);

 private:
  /// What is known of one model before it is profiled.
  struct Model {
    std::size_t index = 0;
    worker::ModeRequest mode;
    Seconds preparation{};  ///< expected, of a worker until it executes the model
    Seconds least{};        ///< of executions, for enough pairs of blocks
    double size = 0.0;      ///< of its operands, relative to other models
  };
  [[nodiscard]] std::vector<Model> find_models(std::vector<std::size_t> chosen) const;
  /// Returns why a model has no profile; empty: it has one.
  [[nodiscard]] std::string try_profile(const Model& model, Seconds share, Seconds end);
  void profile(const Model& model, Seconds budget, Seconds end);
  /// Returns what is expected to be left for executions of a model, of some time.
  [[nodiscard]] Seconds executing(const Model& model, Seconds time) const {
    return time - model.preparation - afterwards_ -
           (observed_ > 0.0 ? model.size / observed_ : 0.0) * unforeseen_;
  }

  const SessionContext& context_;
  const results::RunId& run_;
  RunWorkers workers_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  WantedModes modes_;
  Seconds unforeseen_{};     ///< that preparing took beyond what was expected, of all profiles
  double observed_ = 0.0;    ///< size of their models
  Seconds afterwards_{0.2};  ///< to end a worker, name the samples and store them
};

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
