// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/explained_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/analysis/profile/profile_shares.hpp"

namespace plumb::analysis {
namespace {

/// Images of functions that stand for all of some steps.
constexpr std::string_view kChosenSteps = "(chosen steps)";
constexpr std::string_view kOtherSteps = "(other steps)";

bool is_chosen(const results::NamedProfile& profile,
               const results::NamedProfile::Cell& cell,
               const StepFilter& chosen) {
  return !chosen || (cell.step != results::kNoStep && chosen(profile.steps[cell.step]));
}

/// Puts the samples of the chosen steps, or those of all others, into one function.
results::NamedProfile join(results::NamedProfile profile,
                           const StepFilter& chosen,
                           std::string_view image) {
  const auto joined = static_cast<std::uint32_t>(profile.functions.size());
  profile.functions.push_back({"", std::string(image)});
  for (results::NamedProfile::Cell& cell : profile.cells) {
    if (is_chosen(profile, cell, chosen) == (image == kChosenSteps)) {
      cell.function = joined;
    }
  }
  return profile;
}

/// Sets how the time of the chosen steps differs.
void set_change(const ProfileDifference& difference, FunctionFinding& finding) {
  for (const ProfileDifference::Function& each : difference.functions) {
    if (each.function.image == kChosenSteps) {
      finding.baseline = each.baseline;
      finding.candidate = each.candidate;
      if (each.interval) {
        finding.change_low = Seconds(each.interval->low);
        finding.change_high = Seconds(each.interval->high);
      }
    }
  }
}

}  // namespace

std::uint64_t count_samples(const results::NamedProfile& profile, const StepFilter& chosen) {
  std::uint64_t samples = 0;
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    for (const results::NamedProfile::Cell::Count& count : cell.counts) {
      samples += is_chosen(profile, cell, chosen) ? count.samples : 0;
    }
  }
  return samples;
}

std::string find_shortage(const results::NamedProfile& baseline,
                          const results::NamedProfile& candidate) {
  const std::uint64_t before = count_samples(baseline, {});
  const std::uint64_t after = count_samples(candidate, {});
  if (std::min(before, after) >= kMinExplainingSamples &&
      std::min(baseline.blocks.size(), candidate.blocks.size()) >= GroupedSamples::kMinGroups) {
    return {};
  }
  return fmt::format("too few samples: {} in {} blocks and {} in {}, where {} in {} are needed",
                     before,
                     baseline.blocks.size(),
                     after,
                     candidate.blocks.size(),
                     kMinExplainingSamples,
                     GroupedSamples::kMinGroups);
}

void explain_change(const results::NamedProfile& baseline,
                    const results::NamedProfile& candidate,
                    const StepFilter& chosen,
                    FunctionFinding& finding) {
  finding.baseline_samples = count_samples(baseline, chosen);
  finding.candidate_samples = count_samples(candidate, chosen);
  finding.problem = find_shortage(baseline, candidate);
  if (!finding.problem.empty()) {
    return;
  }
  finding.interval_of = to_text(std::min(drawn_unit(baseline), drawn_unit(candidate)));
  const results::NamedProfile before = join(baseline, chosen, kOtherSteps);
  const results::NamedProfile after = join(candidate, chosen, kOtherSteps);
  set_change(compute_profile_difference(join(before, chosen, kChosenSteps),
                                        join(after, chosen, kChosenSteps)),
             finding);
  for (const ProfileDifference::Function& each :
       compute_profile_difference(before, after).functions) {
    if (each.function.image != kOtherSteps && each.is_certain()) {
      finding.parts.push_back({name_of(each.function),
                               each.function.image,
                               each.step,
                               each.change(),
                               Seconds(each.interval->low),
                               Seconds(each.interval->high),
                               each.in_baseline,
                               each.in_candidate});
    }
  }
}

namespace {

using results::StoredProfile;

/// Profiles of one model in one mode by both sides.
struct ProfilePair {
  const StoredProfile* baseline = nullptr;
  const StoredProfile* candidate = nullptr;
};

/// Pairs the newest profiles of each side, by subject and mode.
std::map<std::pair<std::string, std::string>, ProfilePair> find_pairs(
    std::span<const StoredProfile> baseline, std::span<const StoredProfile> candidate) {
  std::map<std::pair<std::string, std::string>, ProfilePair> pairs;
  for (const StoredProfile& each : baseline) {
    pairs[{each.subject, each.profile.mode}].baseline = &each;
  }
  for (const StoredProfile& each : candidate) {
    pairs[{each.subject, each.profile.mode}].candidate = &each;
  }
  std::erase_if(pairs, [](const auto& each) {
    return each.second.baseline == nullptr || each.second.candidate == nullptr;
  });
  return pairs;
}

FunctionFinding finding_of(const ProfilingChoice::Metric& metric) {
  FunctionFinding finding;
  finding.series = metric.series;
  finding.model = metric.model;
  finding.mode = metric.mode;
  finding.measured_mode = metric.mode;
  finding.layer = metric.layer;
  finding.ratio = metric.ratio;
  finding.low = metric.low;
  finding.high = metric.high;
  finding.control = metric.control;
  return finding;
}

/// Explainer of metrics by pairs of profiles.
class Explainer {
 public:
  Explainer(std::span<const StoredProfile> baseline,
            std::span<const StoredProfile> candidate,
            const std::map<std::string, const model::Graph*>& graphs)
      : pairs_(find_pairs(baseline, candidate)), graphs_(graphs) {}

  /// Returns the rank of a model's metric among those of the model: the higher, the better.
  [[nodiscard]] std::tuple<bool, bool, double> rank(const ProfilingChoice::Metric& metric) const {
    return {!metric.control,
            pairs_.contains({metric.model, metric.mode}),
            std::abs(std::log(metric.ratio.value_or(1.0)))};
  }

  [[nodiscard]] FunctionFinding explain_model(const ProfilingChoice::Metric& metric) const {
    FunctionFinding finding = finding_of(metric);
    auto pair = pairs_.find({metric.model, metric.mode});
    if (pair == pairs_.end()) {
      pair = std::find_if(pairs_.begin(), pairs_.end(), [&](const auto& each) {
        return each.first.first == metric.model;
      });
    }
    if (pair == pairs_.end()) {
      finding.problem = "the two sides have no profiles of it in one mode";
      return finding;
    }
    finding.mode = pair->first.second;
    explain_change(pair->second.baseline->profile, pair->second.candidate->profile, {}, finding);
    return finding;
  }

  /// Returns whether a profiled step computes a layer together with others of some keys.
  [[nodiscard]] bool shares_step(const std::string& layer,
                                 const std::set<std::string>& keys) const {
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& pair) {
      const auto graph = graphs_.find(pair.first.first);
      const StepFilter chosen = steps_of(layer, pair.first.first);
      const auto shares = [&](const results::SampledProfile::Step& step) {
        return graph != graphs_.end() && chosen(step) &&
               std::any_of(step.layers.begin(), step.layers.end(), [&](std::size_t each) {
                 return each < graph->second->layers.size() &&
                        keys.contains(graph->second->layers[each].key.text);
               });
      };
      const std::vector<results::SampledProfile::Step>& before =
          pair.second.baseline->profile.steps;
      const std::vector<results::SampledProfile::Step>& after =
          pair.second.candidate->profile.steps;
      return std::any_of(before.begin(), before.end(), shares) ||
             std::any_of(after.begin(), after.end(), shares);
    });
  }

  /// Absent: no profiled step computes the layer on both sides.
  [[nodiscard]] std::optional<FunctionFinding> explain_layer(
      const ProfilingChoice::Metric& metric) const {
    const ProfilePair* best = nullptr;
    const std::pair<std::string, std::string>* place = nullptr;
    std::uint64_t most = 0;
    for (const auto& [where, pair] : pairs_) {
      const StepFilter chosen = steps_of(metric.layer, where.first);
      const std::uint64_t samples = std::min(count_samples(pair.baseline->profile, chosen),
                                             count_samples(pair.candidate->profile, chosen));
      if (samples > most) {
        most = samples;
        best = &pair;
        place = &where;
      }
    }
    if (best == nullptr) {
      return std::nullopt;
    }
    FunctionFinding finding = finding_of(metric);
    finding.model = place->first;
    finding.mode = place->second;
    explain_change(best->baseline->profile,
                   best->candidate->profile,
                   steps_of(metric.layer, place->first),
                   finding);
    return finding;
  }

 private:
  /// Chooses the steps of a model that compute a layer, with the reorders that it needs there.
  [[nodiscard]] StepFilter steps_of(const std::string& key, const std::string& subject) const {
    const auto found = graphs_.find(subject);
    const model::Graph* const graph = found == graphs_.end() ? nullptr : found->second;
    return [&key, graph](const results::SampledProfile::Step& step) {
      return step.key == key ||
             (graph != nullptr &&
              std::any_of(step.layers.begin(), step.layers.end(), [&](std::size_t layer) {
                return layer < graph->layers.size() && graph->layers[layer].key.text == key;
              }));
    };
  }

  std::map<std::pair<std::string, std::string>, ProfilePair> pairs_;
  const std::map<std::string, const model::Graph*>& graphs_;
};

}  // namespace

std::vector<FunctionFinding> explain_metrics(
    std::span<const ProfilingChoice::Metric> metrics,
    std::span<const StoredProfile> baseline,
    std::span<const StoredProfile> candidate,
    const std::map<std::string, const model::Graph*>& graphs) {
  std::vector<FunctionFinding> findings;
  if (baseline.empty() && candidate.empty()) {
    return findings;
  }
  const Explainer explainer(baseline, candidate, graphs);
  std::map<std::string, const ProfilingChoice::Metric*> models;
  std::vector<const ProfilingChoice::Metric*> layers;
  for (const ProfilingChoice::Metric& metric : metrics) {
    if (metric.model.empty()) {
      layers.push_back(&metric);
      continue;
    }
    const ProfilingChoice::Metric*& best = models[metric.model];
    if (best == nullptr || explainer.rank(metric) > explainer.rank(*best)) {
      best = &metric;
    }
  }
  for (const auto& [subject, metric] : models) {
    findings.push_back(explainer.explain_model(*metric));
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto* left, const auto* right) {
    const auto rank = [](const ProfilingChoice::Metric& metric) {
      return std::pair(metric.control, metric.control ? -metric.baseline : -std::abs(metric.delta));
    };
    return rank(*left) < rank(*right);
  });
  std::size_t changed = 0;
  std::set<std::string> changed_layers;
  bool has_control = false;
  for (const ProfilingChoice::Metric* const metric : layers) {
    if (!metric->control) {
      changed_layers.insert(metric->layer);
    }
    const bool left_out = metric->control
                              ? has_control || explainer.shares_step(metric->layer, changed_layers)
                              : ++changed > kMaxExplainedLayers;
    if (left_out) {
      continue;
    }
    if (auto finding = explainer.explain_layer(*metric)) {
      has_control = metric->control;
      findings.push_back(*std::move(finding));
    }
  }
  std::stable_partition(
      findings.begin(), findings.end(), [](const auto& finding) { return !finding.control; });
  return findings;
}

}  // namespace plumb::analysis
