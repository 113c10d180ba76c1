// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/compare/attribution.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/analysis/qualify/qualification.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::analysis {
namespace {

constexpr double kTail = 0.025;

/// Returns the pairs of a metric that screened it: the ratios of the earlier half as the baseline,
/// those of the later half as the candidate.
PairedSamples later_against_earlier(const RoundComparison::Metric& metric) {
  PairedSamples samples;
  const std::size_t half = std::min({metric.screening_pairs,
                                     metric.baseline_seconds.size(),
                                     metric.candidate_seconds.size()}) /
                           2;
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t later = half + i;
    samples.baseline.push_back(metric.candidate_seconds[i] / metric.baseline_seconds[i]);
    samples.candidate.push_back(metric.candidate_seconds[later] / metric.baseline_seconds[later]);
  }
  return samples;
}

void count_alarms(const std::vector<RoundComparison::Metric>& metrics,
                  bool moderate,
                  Qualification::Alarms& control) {
  std::vector<stats::TrimmedMean> samples;
  for (const RoundComparison::Metric& metric : metrics) {
    const PairedSamples::Metric halves =
        paired_metric(later_against_earlier(metric), metric.subject);
    if (halves.log_ratio) {
      samples.push_back(*halves.log_ratio);
    }
  }
  const stats::TrimmedMean::Prior prior =
      moderate ? stats::variance_prior(samples) : stats::TrimmedMean::Prior{};
  for (const stats::TrimmedMean& sample : samples) {
    MetricComparison scratch;
    ++control.tests;
    if (test_change(scratch, stats::moderated(sample, prior), control.level) < control.level) {
      ++control.alarms;
    }
  }
}

constexpr double kNormal95 = 1.959964;
constexpr double kWorseError = 2.0;  // times the baseline's: no longer rounding alike

std::vector<const results::PairedRound*> valid_rounds(
    std::span<const results::PairedRound> rounds,
    const std::vector<RoundComparison::InvalidRound>& invalid) {
  std::vector<const results::PairedRound*> valid;
  for (const results::PairedRound& round : rounds) {
    if (std::none_of(
            invalid.begin(), invalid.end(), [&](const RoundComparison::InvalidRound& each) {
              return each.round == round.number;
            })) {
      valid.push_back(&round);
    }
  }
  return valid;
}

std::vector<Qualification::Mean> geometric_means(
    const std::vector<RoundComparison::Metric>& models) {
  struct Sum {
    double logs = 0.0;
    double square = 0.0;
    std::size_t n = 0;
  };
  std::map<std::string, Sum> sums;
  for (const RoundComparison::Metric& model : models) {
    if (model.test.ratio) {
      Sum& sum = sums[model.mode];
      const double error = std::log(model.test.high / model.test.low) / (2.0 * kNormal95);
      sum.logs -= std::log(*model.test.ratio);
      sum.square += error * error;
      ++sum.n;
    }
  }
  std::vector<Qualification::Mean> means;
  for (const auto& [mode, sum] : sums) {
    const auto n = static_cast<double>(sum.n);
    const double reach = kNormal95 * std::sqrt(sum.square) / n;
    const double mean = sum.logs / n;
    means.push_back({mode, sum.n, std::exp(mean), std::exp(mean - reach), std::exp(mean + reach)});
  }
  return means;
}

/// Error, hash and correctness of one subject's outputs on one side.
struct Outputs {
  std::optional<double> error;
  std::string hash;
  bool wrong = false;

  void add(const results::Measurement& row) {
    wrong = wrong || row.outcome.kind == results::Outcome::Kind::kWrongResult;
    error = error ? error : row.maximum_error;
    hash = hash.empty() ? row.output_hash : hash;
  }
};

Qualification::Accuracy compared(const std::string& subject,
                                 const Outputs& before,
                                 const Outputs& after,
                                 bool reference) {
  using Verdict = Qualification::Accuracy::Verdict;
  Qualification::Accuracy result{subject, {}, {}, before.hash, after.hash, Verdict::kNotMeasured};
  if (reference) {  // a model's error is towards its own first mode
    result.baseline_error = before.error;
    result.candidate_error = after.error;
  }
  if (after.wrong) {
    result.verdict = Verdict::kWrong;
  } else if (before.hash.empty() || after.hash.empty()) {
    result.verdict = Verdict::kNotMeasured;
  } else if (before.hash == after.hash) {
    result.verdict = Verdict::kSameBits;
  } else if (!result.baseline_error || !result.candidate_error) {
    result.verdict = Verdict::kDiffers;
  } else {
    result.verdict = *result.candidate_error > kWorseError * *result.baseline_error
                         ? Verdict::kWorse
                         : Verdict::kWithinTolerance;
  }
  return result;
}

void add_accuracy(std::span<const results::PairedRound> rounds, Qualification& q) {
  std::map<std::string, std::pair<Outputs, Outputs>> layers;
  std::map<std::string, std::pair<Outputs, Outputs>> models;
  for (const results::PairedRound& round : rounds) {
    for (const auto& [key, row] : round.baseline.layers) {
      layers[key.text].first.add(row);
    }
    for (const auto& [key, row] : round.candidate.layers) {
      layers[key.text].second.add(row);
    }
    for (const auto& [name, execution] : round.baseline.models) {
      models[name.first + " " + name.second].first.add(execution.row);
    }
    for (const auto& [name, execution] : round.candidate.models) {
      models[name.first + " " + name.second].second.add(execution.row);
    }
  }
  for (const auto& [subject, outputs] : models) {
    q.accuracy.push_back(compared(subject, outputs.first, outputs.second, false));
  }
  for (const auto& [subject, outputs] : layers) {
    q.accuracy.push_back(compared(subject, outputs.first, outputs.second, true));
  }
}

/// Adds a cost that has one value per round and side.
void add_cost(const std::string& subject,
              const std::string& name,
              const std::string& unit,
              const PairedSamples& samples,
              Qualification& q) {
  const PairedSamples::Metric metric = paired_metric(samples, name, MetricKind::kCost);
  if (!metric.log_ratio) {
    return;
  }
  MetricComparison test = metric.result;
  test_change(test, *metric.log_ratio, 0.05);
  q.costs.push_back(
      {subject, name, unit, test.baseline, test.candidate, *test.ratio, test.low, test.high});
}

/// Adds the sum of one optional time over the layers for which both sides of a round have it.
void add_layers_cost(std::span<const results::PairedRound* const> rounds,
                     const std::string& name,
                     std::optional<Seconds> results::Measurement::*time,
                     Qualification& q) {
  PairedSamples samples;
  for (const results::PairedRound* round : rounds) {
    double before = 0.0;
    double after = 0.0;
    for (const auto& [key, row] : round->baseline.layers) {
      const auto other = round->candidate.layers.find(key);
      if (other != round->candidate.layers.end() && row.*time && other->second.*time) {
        before += (row.*time)->count();
        after += (other->second.*time)->count();
      }
    }
    if (before > 0.0 && after > 0.0) {
      samples.baseline.push_back(before);
      samples.candidate.push_back(after);
    }
  }
  add_cost("all layers", name, "seconds", samples, q);
}

void add_costs(std::span<const results::PairedRound* const> rounds,
               std::size_t screening,
               Qualification& q) {
  // Later rounds measure fewer layers, so their sums are not comparable.
  const auto all = rounds.first(std::min(screening, rounds.size()));
  add_layers_cost(all, "creation", &results::Measurement::creation, q);
  add_layers_cost(all, "first_call", &results::Measurement::first_call, q);
  std::set<results::ModelMode> names;
  for (const results::PairedRound* round : all) {
    for (const auto& [name, execution] : round->baseline.models) {
      names.insert(name);
    }
  }
  for (const results::ModelMode& name : names) {
    PairedSamples memory;
    for (const results::PairedRound* round : all) {
      const auto before = round->baseline.models.find(name);
      const auto after = round->candidate.models.find(name);
      if (before != round->baseline.models.end() && after != round->candidate.models.end()) {
        memory.baseline.push_back(static_cast<double>(before->second.memory.value));
        memory.candidate.push_back(static_cast<double>(after->second.memory.value));
      }
    }
    add_cost(name.first + " " + name.second, "memory", "bytes", memory, q);
  }
}

}  // namespace

Qualification::Alarms alarm_control(const Qualification& q) {
  Qualification::Alarms control;
  count_alarms(q.layers, true, control);
  count_alarms(q.models, false, control);
  if (control.tests > 0) {
    using Binomial = boost::math::binomial_distribution<>;
    const auto trials = static_cast<double>(control.tests);
    const auto alarms = static_cast<double>(control.alarms);
    control.low = Binomial::find_lower_bound_on_p(trials, alarms, kTail);
    control.high = Binomial::find_upper_bound_on_p(trials, alarms, kTail);
  }
  return control;
}

void add_evidence(std::span<const results::PairedRound> rounds,
                  RoundComparison comparison,
                  Qualification& q) {
  q.rounds = rounds.size();
  q.models = std::move(comparison.models);
  q.layers = std::move(comparison.layers);
  q.controls = std::move(comparison.drift.controls);
  q.invalid_rounds = std::move(comparison.drift.invalid);
  const std::vector<const results::PairedRound*> valid = valid_rounds(rounds, q.invalid_rounds);
  std::size_t screening = 0;
  for (const RoundComparison::Metric& metric : q.models) {
    screening = std::max(screening, metric.screening_pairs);
  }
  for (const RoundComparison::Metric& metric : q.layers) {
    screening = std::max(screening, metric.screening_pairs);
  }
  q.geometric_means = geometric_means(q.models);
  for (const RoundComparison::Metric& model : q.models) {
    if (auto attribution = attribute_model(valid, {model.subject, model.mode})) {
      q.attributions.push_back(std::move(*attribution));
    }
  }
  add_accuracy(rounds, q);
  add_costs(valid, screening, q);
  q.alarms = alarm_control(q);
  for (const results::PairedRound& round : rounds) {
    q.baseline.crashes += round.baseline.crashes;
    q.baseline.timeouts += round.baseline.timeouts;
    q.candidate.crashes += round.candidate.crashes;
    q.candidate.timeouts += round.candidate.timeouts;
  }
}

namespace {

bool worse(const RoundComparison::Metric& metric) {
  return metric.test.verdict == ComparisonVerdict::kRegressed ||
         metric.test.verdict == ComparisonVerdict::kBroken;
}

/// Returns the cause by which layers are grouped: why one broke, or what the variants' names show.
MetricComparison::Cause named_cause(const RoundComparison::Metric& layer) {
  MetricComparison::Cause cause =
      implementation_cause(layer.baseline_variant, layer.candidate_variant);
  if (layer.test.verdict == ComparisonVerdict::kBroken) {
    cause.cause = layer.test.reason;
  } else if (layer.baseline_variant == layer.candidate_variant &&
             layer.replay.finding == RoundComparison::PinnedCheck::Finding::kNotSeenAgain) {
    cause.cause = "slower in the rounds, but not when measured again";
  }
  return cause;
}

void name_layer(RoundComparison::Metric& layer) {
  layer.test.causes = {named_cause(layer)};
  const RoundComparison::PinnedCheck& replay = layer.replay;
  const auto add = [&](const char* cause) {
    layer.test.causes.push_back({cause, 1.0, replay.evidence});
  };
  switch (replay.finding) {
    case RoundComparison::PinnedCheck::Finding::kHeuristicChanged:
      add("heuristic changed");
      break;
    case RoundComparison::PinnedCheck::Finding::kKernelChanged:
      add("kernel changed");
      break;
    case RoundComparison::PinnedCheck::Finding::kRemoved:
      add("implementation removed");
      break;
    case RoundComparison::PinnedCheck::Finding::kNotSeenAgain:
    case RoundComparison::PinnedCheck::Finding::kUndecided:
    case RoundComparison::PinnedCheck::Finding::kNotTested:
      break;
  }
  if (replay.bound == RoundComparison::PinnedCheck::BoundChange::kCapabilityLost) {
    add("capability lost");
  } else if (replay.bound == RoundComparison::PinnedCheck::BoundChange::kChoiceOnly) {
    add("choice only");
  }
}

}  // namespace

void add_findings(Qualification& qualification) {
  RunComparison::FindingGroups groups;
  for (RoundComparison::Metric& layer : qualification.layers) {
    if (!worse(layer)) {
      continue;
    }
    name_layer(layer);
    MetricComparison::Cause cause = layer.test.causes.front();
    if (!layer.replay.evidence.empty()) {
      cause.evidence += "; " + layer.replay.evidence;
    }
    groups.add(cause, layer.subject, layer.test.delta, layer.models);
  }
  for (RoundComparison::Metric& model : qualification.models) {
    for (const RunComparison::Attribution& attribution : qualification.attributions) {
      const bool changed = model.test.verdict == ComparisonVerdict::kRegressed ||
                           model.test.verdict == ComparisonVerdict::kImproved;
      if (changed && attribution.subject == model.subject && attribution.mode == model.mode) {
        model.test.causes = find_causes(attribution);
      }
    }
  }
  qualification.findings = groups.findings();
}

}  // namespace plumb::analysis
