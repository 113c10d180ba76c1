// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/paired_profiles.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/analysis/profile/explained_metrics.hpp"
#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/analysis/profile/profiling_choice.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/session/host/system_facts.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {
namespace {

constexpr std::size_t kProcesses = analysis::GroupedSamples::kMinGroups;  ///< of a side, at least
/// Executions in one process: so long that kProcesses have kPairedSamples, half of them without.
constexpr Seconds kTurn{1.7};
constexpr Seconds kShortTurn{0.5};  ///< below, most of the time goes into starting processes
constexpr Seconds kTimeout{120.0};

/// Makes a model of a layer alone, for the name of its steps.
PlannedModel plan_alone(const std::string& key) {
  PlannedModel planned;
  planned.instance.model = key;
  auto& layer = planned.graph.layers.emplace_back();
  layer.key.text = key;
  layer.name = model::operator_name(key);
  return planned;
}

/// One side's processes of one model or layer, merged.
class SideProfile {
 public:
  SideProfile(const PairedSide& side,
              const analysis::ProfiledModel& wanted,
              const PlannedModel& planned,
              worker::ProfileRequest request)
      : side_(side), wanted_(wanted), planned_(planned), request_(std::move(request)) {}

  void take(Seconds budget, const std::function<bool()>& keep_running) {
    const RawFolder folder("");
    request_.folder = folder.path();
    request_.budget = budget;
    results::NamedProfile more =
        profile_model(side_.worker, request_, kTimeout, planned_, keep_running);
    if (!wanted_.layer.empty()) {
      more.model = wanted_.layer;
    }
    if (profile_) {
      analysis::merge_profile(more, *profile_);
    } else {
      profile_ = std::move(more);
    }
  }
  [[nodiscard]] std::uint64_t samples() const {
    return profile_ ? analysis::count_samples(*profile_, {}) : 0;
  }
  [[nodiscard]] std::size_t processes() const {
    return profile_ ? std::max<std::size_t>(1, profile_->processes.size()) : 0;
  }
  [[nodiscard]] bool is_complete() const {
    return samples() >= kPairedSamples && processes() >= kProcesses;
  }
  /// Absent: nothing was taken.
  [[nodiscard]] std::optional<results::StoredProfile> stored() const {
    if (!profile_) {
      return std::nullopt;
    }
    return results::StoredProfile{
        side_.run, wanted_.subject, current_time(), results::condense_profile(*profile_)};
  }

 private:
  const PairedSide& side_;
  const analysis::ProfiledModel& wanted_;
  const PlannedModel& planned_;
  worker::ProfileRequest request_;
  std::optional<results::NamedProfile> profile_;
};

/// Takes both sides' samples of a model in turns.
void take_turns(SideProfile& baseline,
                SideProfile& candidate,
                Seconds budget,
                const std::function<bool()>& keep_running) {
  const Seconds begin = steady_time();
  // Both sides' processes fit into the budget if a third of it goes into starting them.
  const Seconds turn = std::clamp(
      budget / (3.0 * kProcesses), std::min(kShortTurn, budget / 4.0), std::min(kTurn, budget));
  for (bool baseline_first = true; keep_running(); baseline_first = !baseline_first) {
    for (SideProfile* const side :
         {baseline_first ? &baseline : &candidate, baseline_first ? &candidate : &baseline}) {
      side->take(turn, keep_running);
    }
    if ((baseline.is_complete() && candidate.is_complete()) || steady_time() - begin >= budget) {
      return;
    }
  }
}

}  // namespace

PairedProfileSets profile_in_pairs(const SessionContext& context,
                                   const suite::ResolvedSuite& suite,
                                   std::span<const PlannedModel> models,
                                   std::span<const analysis::ProfiledModel> wanted,
                                   const PairedSide& baseline,
                                   const PairedSide& candidate,
                                   Seconds budget) {
  const auto keep_running = [&] { return !context.stop.load(); };
  const Seconds end = steady_time() + budget;
  PairedProfileSets sets;
  for (std::size_t i = 0; i < wanted.size() && keep_running(); ++i) {
    const auto planned = std::find_if(models.begin(), models.end(), [&](const auto& each) {
      return analysis::subject_of(each.instance) == wanted[i].subject;
    });
    const bool is_layer = !wanted[i].layer.empty();
    if (planned == models.end() && !is_layer) {
      continue;
    }
    const Seconds left = end - steady_time();
    if (left <= Seconds(0.0)) {
      sets.problems.push_back(
          fmt::format("{} of {} models and layers were not profiled: the time, {:.0f} s, ended",
                      wanted.size() - i,
                      wanted.size(),
                      budget.count()));
      break;
    }
    worker::ProfileRequest request;
    request.layer = wanted[i].layer;
    if (!is_layer) {
      request.model = make_execute_request(
          context.models, suite.models[static_cast<std::size_t>(planned - models.begin())]);
    }
    request.model.modes = {{.mode = wanted[i].mode, .steps = {}}};
    request.model.verify = false;
    request.rate = kPassRate;
    const PlannedModel named = is_layer ? plan_alone(wanted[i].layer) : *planned;
    SideProfile before(baseline, wanted[i], named, request);
    SideProfile after(candidate, wanted[i], named, request);
    try {
      take_turns(before, after, left / static_cast<double>(wanted.size() - i), keep_running);
      if (!before.is_complete() || !after.is_complete()) {
        sets.problems.push_back(
            fmt::format("profiling {}: the time for it ended with {} and {} of {} samples, by {} "
                        "and {} of {} processes",
                        wanted[i].subject,
                        before.samples(),
                        after.samples(),
                        kPairedSamples,
                        before.processes(),
                        after.processes(),
                        kProcesses));
      }
    } catch (const worker::WorkerDied& death) {
      sets.problems.push_back(
          fmt::format("profiling {}: {}", wanted[i].subject, death.outcome().reason));
    } catch (const Error& error) {
      sets.problems.push_back(fmt::format("profiling {}: {}", wanted[i].subject, error.what()));
    }
    for (const auto& [side, set] :
         {std::pair(&before, &sets.baseline), std::pair(&after, &sets.candidate)}) {
      if (std::optional<results::StoredProfile> stored = side->stored()) {
        context.store.put_profile(*stored);
        set->push_back(*std::move(stored));
      }
    }
  }
  return sets;
}

namespace {

/// Refuses to profile on a machine or with a stack that a run did not measure.
void refuse_changed(const results::RunHeader& run, const results::Environment& now) {
  std::string unlike;
  for (const analysis::EnvironmentDifference& each :
       analysis::environment_diff(run.environment, now)) {
    if (each.identity && each.name != "method" && !analysis::names_device(each.name)) {
      unlike +=
          fmt::format(" {}: '{}' then and '{}' now;", each.name, each.baseline, each.candidate);
    }
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                fmt::format("the stack '{}' on this machine is not what run {} measured:{} profile "
                            "where it was measured, or measure both stacks with `plumb qualify`",
                            run.stack,
                            run.id,
                            unlike));
  }
}

/// Returns how workers execute what a run measured. Its profiles are kept with the run.
PairedSide side_of(const results::RunHeader& run) {
  const int threads = results::threads_of(run.environment);
  PairedSide side{worker_options({run.stack, threads, device_of(run)}), run.id};
  const results::Environment now = join_environment(
      read_system(), worker::WorkerProcess(side.worker).describe(), threads, run.stack);
  refuse_changed(run, now);
  if (!now.facts.contains(worker::kSamplingFact)) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("workers of the stack '{}' cannot be sampled", run.stack));
  }
  return side;
}

}  // namespace

ComparedProfiles profile_comparison(const SessionContext& context,
                                    const analysis::RunComparisonReport& report,
                                    Seconds budget) {
  StoredModels models = read_stored_models(context.models, report.candidate);
  std::map<std::string, const model::Graph*> graphs;
  for (const PlannedModel& model : models.planned) {
    graphs[analysis::subject_of(model.instance)] = &model.graph;
  }
  const analysis::ProfilingChoice choice =
      analysis::choose_comparison_profiling(report.comparison, graphs);
  ComparedProfiles outcome{choice.models.size(), {}};
  if (choice.models.empty()) {
    outcome.problems.emplace_back("no change is certain, so nothing was profiled");
    return outcome;
  }
  const results::RunHeader& baseline = report.baseline.header;
  const results::RunHeader& candidate = report.candidate.header;
  if (baseline.stack == candidate.stack) {
    throw Error(Error::Kind::kRefused,
                fmt::format("both runs are of the stack '{}', so that profiles of now would not "
                            "differ{}",
                            baseline.stack,
                            analysis::has_model(choice)
                                ? ": keep the profiles of runs with `plumb run --profile-budget`"
                                : ""));
  }
  const PairedSide before = side_of(baseline);
  const PairedSide after = side_of(candidate);
  spdlog::info("profiling {} models and layers in which something changed, or as controls",
               choice.models.size());
  suite::ResolvedSuite suite;
  suite.models = std::move(models.named);
  outcome.problems =
      profile_in_pairs(context, suite, models.planned, choice.models, before, after, budget)
          .problems;
  return outcome;
}

}  // namespace plumb::session
