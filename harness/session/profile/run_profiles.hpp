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

/// Options for the profiles of a run.
struct RunProfilesOptions {
  bool wanted = true;
  std::optional<Seconds> budget;  ///< of the pass; absent: kPassShare of the run's time
};

/// Share of a run's time that its pass may take.
inline constexpr double kPassShare = 0.01;
/// Samples a second of each thread. No time that counts is disturbed, so they may be dense.
inline constexpr double kPassRate = 4000.0;

/// Pass of a run that profiles its models, each in a worker of its own.
class RunProfiles {
 public:
  /// Keeps references to all arguments but `modes`. The run has executed the models.
  RunProfiles(const SessionContext& context,
              const results::RunId& run,
              const worker::WorkerOptions& worker,
              const suite::ResolvedSuite& suite,
              std::span<const PlannedModel> models,
              WantedModes modes)
      : context_(context),
        run_(run),
        worker_(worker),
        suite_(suite),
        models_(models),
        modes_(std::move(modes)) {}

  /// Profiles the chosen models, by index, and stores the profiles. Each is executed in the mode
  /// fusion if the run timed it, else plain, else another one. It is left out if starting it alone
  /// would take longer than is left of `allowed`. A random order gives each its turn over many
  /// runs. A model that cannot be profiled is logged. Models that have a profile keep it.
  [[nodiscard]] ProfilingRecord take(std::vector<std::size_t> chosen, Seconds allowed);

 private:
  /// What is known of one model before it is profiled.
  struct Model {
    std::size_t index = 0;
    worker::ModeRequest mode;
    Seconds preparation{};  ///< expected, of a worker until it executes the model
  };
  [[nodiscard]] std::vector<Model> find_models(std::vector<std::size_t> chosen) const;
  void profile(const Model& model, Seconds budget);

  const SessionContext& context_;
  const results::RunId& run_;
  const worker::WorkerOptions& worker_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  WantedModes modes_;
};

}  // namespace plumb::session
