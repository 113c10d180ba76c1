// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/session/profile/profiling_record.hpp"
#include "harness/session/work/mode_requests.hpp"
#include "harness/session/work/planned_model.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/client/worker_options.hpp"

namespace plumb::session {

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

}  // namespace plumb::session
