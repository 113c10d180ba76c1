// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/session/work/worker_requests.hpp"

namespace plumb::session {

/// Lists the models of a shard that are executed, by index.
[[nodiscard]] std::vector<std::size_t> models_of_shard(std::span<const PlannedModel> models,
                                                       const WorkSource::Shard& shard);

/// Models of one run, executed end to end in several restarted processes each.
class ModelRuns {
 public:
  /// Keeps references to the context, executor, run and suite, and the span of models. Only
  /// `chosen` ones are executed, by index.
  ModelRuns(const SessionContext& context,
            Executor& executor,
            const results::RunId& run,
            const suite::ResolvedSuite& suite,
            std::span<const PlannedModel> models,
            std::vector<std::size_t> chosen,
            WantedModes modes);

  /// Executes these models from now on.
  void choose(std::vector<std::size_t> chosen) { mine_ = std::move(chosen); }

  /// Samples the models while they are timed, from now on. Keeps a reference.
  void sample(RunProfiles::Timed& profiles) { profiles_ = &profiles; }

  /// Executes each model in one more worker process, unless `processes` processes of the run have
  /// timed it. Returns false if `stopped`, asked before each model, or the user ended the work.
  ///
  /// The modes are those of mode_requests(). Results are stored as records of kind "execution". The
  /// first process of a model also times the steps of its plan. Later ones take less time, and the
  /// models in a random order. Shapes that alternate follow (execute_alternations()).
  bool execute(std::size_t processes, const std::function<bool()>& stopped);
  /// Executes the models of these subjects once more, each in a fresh process, as execute() does
  /// after the first. Returns false if the work was ended as there.
  bool execute_again(const std::set<std::string>& subjects,
                     std::size_t round,
                     const std::function<bool()>& stopped);

 private:
  bool execute_one(std::size_t index, std::size_t processes, const std::function<bool()>& stopped);
  bool execute_once(std::size_t index, const worker::ExecuteRequest& request);
  [[nodiscard]] std::vector<results::Execution> executed_model(
      std::size_t index, const worker::ExecuteRequest& request);
  [[nodiscard]] worker::ExecuteRequest request_for(std::size_t index, bool first);

  const SessionContext& context_;
  Executor& executor_;
  const results::RunId& run_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  std::vector<std::size_t> mine_;  ///< indices of the chosen models
  WantedModes modes_;
  RunProfiles::Timed* profiles_ = nullptr;  ///< null: nothing is sampled while it is timed
  std::map<std::size_t, std::vector<worker::ModeRequest>> requests_;  ///< of models executed, by
                                                                      ///< index
};

}  // namespace plumb::session
