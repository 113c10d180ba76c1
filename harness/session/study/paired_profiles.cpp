// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/paired_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/analysis/profile/explained_change.hpp"
#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/session/host/raw_folder.hpp"
#include "harness/session/profile/model_profile.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/work/suite_models.hpp"

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
  const std::size_t begin = key.find(':') + 1;  // behind the version
  layer.name = key.substr(begin, key.find(';') - begin);
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

}  // namespace plumb::session
