// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/round_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

constexpr double kLevel = 0.01;
constexpr double kMoved = 0.02;
constexpr double kInvalidShare = 1.0 / 3.0;
constexpr std::size_t kInvalidFrom = 6;

struct Control {
  const char* name;
  Seconds results::Controls::*time;
  double weight;  // of the limit; zero: never makes a round invalid
};
// The control "floor" takes some tens of nanoseconds, of which its own noise is a large part.
constexpr Control kControls[] = {{"floor", &results::Controls::floor, 0.0},
                                 {"product", &results::Controls::product, 1.0},
                                 {"copy", &results::Controls::copy, 2.0}};

std::optional<std::string> find_fault(const results::PairedRound& round, double limit) {
  if (!round.complete) {
    return "stopped";
  }
  if (!round.baseline.controls || !round.candidate.controls) {
    return "a worker died before its controls were measured";
  }
  return find_control_difference(*round.baseline.controls, *round.candidate.controls, limit);
}

RoundComparison::Control judged(const Control& control,
                                std::span<const results::PairedRound* const> valid) {
  RoundComparison::Control result;
  result.name = control.name;
  PairedSamples samples{control.name, {}, {}};
  for (const results::PairedRound* round : valid) {
    samples.baseline.push_back(((*round->baseline.controls).*control.time).count());
    samples.candidate.push_back(((*round->candidate.controls).*control.time).count());
  }
  result.baseline_seconds = samples.baseline;
  result.candidate_seconds = samples.candidate;
  PairedSamples::Metric metric =
      paired_metric(samples, std::string("controls/") + control.name, MetricKind::kControl);
  result.test = std::move(metric.result);
  if (metric.log_ratio) {
    judge_alone(
        result.test, test_change(result.test, *metric.log_ratio, kLevel), {kLevel, kMoved, kMoved});
    result.moved = control.weight > 0.0 && (result.test.verdict == ComparisonVerdict::kRegressed ||
                                            result.test.verdict == ComparisonVerdict::kImproved);
  }
  return result;
}

}  // namespace

std::string_view to_text(RoundComparison::PinnedCheck::BoundChange change) {
  switch (change) {
    case RoundComparison::PinnedCheck::BoundChange::kCapabilityLost:
      return "capability_lost";
    case RoundComparison::PinnedCheck::BoundChange::kChoiceOnly:
      return "choice_only";
    case RoundComparison::PinnedCheck::BoundChange::kUndecided:
      return "undecided";
    case RoundComparison::PinnedCheck::BoundChange::kNotTested:
      break;
  }
  return "not_tested";
}

std::string_view to_text(RoundComparison::PinnedCheck::Finding finding) {
  switch (finding) {
    case RoundComparison::PinnedCheck::Finding::kHeuristicChanged:
      return "heuristic_changed";
    case RoundComparison::PinnedCheck::Finding::kKernelChanged:
      return "kernel_changed";
    case RoundComparison::PinnedCheck::Finding::kRemoved:
      return "removed";
    case RoundComparison::PinnedCheck::Finding::kNotSeenAgain:
      return "not_seen_again";
    case RoundComparison::PinnedCheck::Finding::kUndecided:
      return "undecided";
    case RoundComparison::PinnedCheck::Finding::kNotTested:
      break;
  }
  return "not_tested";
}

std::optional<std::string> find_control_difference(const results::Controls& before,
                                                   const results::Controls& after,
                                                   double limit) {
  for (const Control& control : kControls) {
    const double left = (before.*control.time).count();
    const double right = (after.*control.time).count();
    if (control.weight > 0.0 &&
        std::abs(std::log(right / left)) > std::log1p(limit * control.weight)) {
      return fmt::format("the control '{}' took {:.4g} s and {:.4g} s, {:+.1f}%",
                         control.name,
                         left,
                         right,
                         100.0 * (right / left - 1.0));
    }
  }
  return std::nullopt;
}

RoundComparison::Drift control_drift(std::span<const results::PairedRound> rounds, double limit) {
  RoundComparison::Drift drift;
  std::vector<const results::PairedRound*> valid;
  for (const results::PairedRound& round : rounds) {
    if (auto fault = find_fault(round, limit)) {
      drift.invalid.push_back({round.number, std::move(*fault)});
    } else {
      valid.push_back(&round);
    }
  }
  for (const Control& control : kControls) {
    drift.controls.push_back(judged(control, valid));
    drift.moved = drift.moved || drift.controls.back().moved;
  }
  drift.moved = drift.moved || (rounds.size() >= kInvalidFrom &&
                                static_cast<double>(drift.invalid.size()) >
                                    kInvalidShare * static_cast<double>(rounds.size()));
  return drift;
}

namespace {

constexpr std::int64_t kDeathsThatBreak = 2;

/// Outcomes of one side's processes for one metric.
struct Tally {
  std::int64_t timed = 0;
  std::int64_t died = 0;
  std::optional<results::Outcome> refused;  // unsupported, wrong, out of memory
  bool reference = false;
  std::string variant;
  results::Outcome last;  // of those that died

  void add(const results::Measurement& row) {
    if (row.outcome.timed()) {
      ++timed;
      variant = row.variant;
      reference = reference || row.reference_implementation;
    } else if (row.outcome.kind == results::Outcome::Kind::kCrashed ||
               row.outcome.kind == results::Outcome::Kind::kTimedOut) {
      ++died;
      last = row.outcome;
    } else if (row.outcome.kind != results::Outcome::Kind::kSkipped) {
      refused = row.outcome;
    }
  }
};

/// Pairs and outcomes of one metric while its rounds are gathered.
struct Gathered {
  SequentialRule::Pairs staged;
  Tally before;
  Tally after;

  void add(const results::Measurement* baseline,
           const results::Measurement* candidate,
           bool screening) {
    if (baseline != nullptr) {
      before.add(*baseline);
    }
    if (candidate != nullptr) {
      after.add(*candidate);
    }
    if (baseline == nullptr || candidate == nullptr || !baseline->outcome.timed() ||
        !candidate->outcome.timed()) {
      return;
    }
    const results::PairedRound::Times times = results::pair_times(*baseline, *candidate);
    staged.pairs.baseline.push_back(times.baseline.count());
    staged.pairs.candidate.push_back(times.candidate.count());
    staged.screening += screening ? 1 : 0;
  }
};

std::string text_of(const results::Outcome& outcome) {
  return fmt::format("{}: {}", to_text(outcome.kind), outcome.reason);
}

/// Returns why a metric is broken. Empty: it is not.
std::string find_break(const Gathered& metric) {
  const Tally& before = metric.before;
  const Tally& after = metric.after;
  if (before.timed == 0 || before.refused || before.died > 0) {
    return {};
  }
  if (after.refused) {
    return "worked before, and now " + text_of(*after.refused);
  }
  if (after.died >= kDeathsThatBreak) {
    return fmt::format("{} of {} processes of the candidate died, none of the baseline: {}",
                       after.died,
                       after.died + after.timed,
                       text_of(after.last));
  }
  if (after.reference && !before.reference) {
    return "fell back to a reference implementation";
  }
  return {};
}

/// Returns why a metric cannot be compared at all. Empty: it can.
std::string find_obstacle(const Gathered& metric) {
  const Tally& before = metric.before;
  if (before.refused) {
    return fmt::format("the baseline cannot execute it ({}){}",
                       text_of(*before.refused),
                       metric.after.timed > 0 ? "; the candidate can" : "");
  }
  return {};
}

template <typename Name>
using Family = std::map<Name, Gathered>;

/// Gathers one family. `rows` passes on the rows of one side by name.
template <typename Name, typename Rows>
Family<Name> gathered(std::span<const results::PairedRound* const> valid,
                      std::size_t screening,
                      const Rows& rows) {
  Family<Name> family;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    std::map<Name, std::pair<const results::Measurement*, const results::Measurement*>> both;
    rows(valid[i]->baseline,
         [&](const Name& name, const results::Measurement& row) { both[name].first = &row; });
    rows(valid[i]->candidate,
         [&](const Name& name, const results::Measurement& row) { both[name].second = &row; });
    for (const auto& [name, pair] : both) {
      family[name].add(pair.first, pair.second, i < screening);
    }
  }
  return family;
}

/// Judges a family. `floor_of` and `finish` get each metric's name.
template <typename Name, typename FloorOf, typename Finish>
void judge(Family<Name> family,
           const SequentialRule& rule,
           const SequentialRule::Limits& limits,
           std::set<Name>& open,
           const FloorOf& floor_of,
           const Finish& finish) {
  std::vector<SequentialRule::Pairs> staged;
  for (auto& [name, metric] : family) {
    metric.staged.floor = floor_of(name);
    staged.push_back(metric.staged);
  }
  std::vector<SequentialRule::Result> results = rule.judge(staged, limits);
  std::size_t next = 0;
  for (auto& [name, metric] : family) {
    SequentialRule::Result& result = results[next++];
    RoundComparison::Metric qualified;
    qualified.test = std::move(result.metric);
    qualified.test.floor = metric.staged.floor;
    if (std::string reason = find_break(metric); !reason.empty()) {
      qualified.test.verdict = ComparisonVerdict::kBroken;
      qualified.test.reason = std::move(reason);
      result.open = false;
    } else if (std::string obstacle = find_obstacle(metric); !obstacle.empty()) {
      qualified.test.verdict = ComparisonVerdict::kInconclusive;
      qualified.test.reason = std::move(obstacle);
      result.open = false;
    }
    if (result.open) {
      open.insert(name);
    }
    qualified.decided_at = result.decided_at;
    qualified.screening_pairs = metric.staged.screening;
    qualified.baseline_variant = metric.before.variant;
    qualified.candidate_variant = metric.after.variant;
    qualified.baseline_seconds = std::move(metric.staged.pairs.baseline);
    qualified.candidate_seconds = std::move(metric.staged.pairs.candidate);
    finish(name, std::move(qualified));
  }
}

}  // namespace

RoundComparison compare_rounds(std::span<const results::PairedRound> rounds,
                               const SequentialRule& rule,
                               const RoundComparison::Limits& limits) {
  RoundComparison result;
  result.drift = control_drift(rounds, limits.control_drift);
  std::vector<const results::PairedRound*> valid;
  for (const results::PairedRound& round : rounds) {
    const bool invalid = std::any_of(
        result.drift.invalid.begin(),
        result.drift.invalid.end(),
        [&](const RoundComparison::InvalidRound& each) { return each.round == round.number; });
    if (!invalid) {
      valid.push_back(&round);
    }
  }
  result.valid = valid.size();
  const std::size_t screening = rule.looks().front();
  judge<results::ModelMode>(
      gathered<results::ModelMode>(valid,
                                   screening,
                                   [](const results::PairedRound::Side& side, const auto& add) {
                                     for (const auto& [name, execution] : side.models) {
                                       add(name, execution.row);
                                     }
                                   }),
      rule,
      limits.models,
      result.open_models,
      [&](const results::ModelMode&) {
        return MetricComparison::Floor{limits.models.change.floor,
                                       MetricComparison::Floor::Source::kFixed};
      },
      [&](const results::ModelMode& name, RoundComparison::Metric metric) {
        metric.subject = name.first;
        metric.mode = name.second;
        metric.test.series = results::qualified_series(name.first, name.second);
        metric.baseline_variant.clear();
        metric.candidate_variant.clear();
        result.models.push_back(std::move(metric));
      });
  judge<model::LayerKey>(
      gathered<model::LayerKey>(valid,
                                screening,
                                [](const results::PairedRound::Side& side, const auto& add) {
                                  for (const auto& [name, row] : side.layers) {
                                    add(name, row);
                                  }
                                }),
      rule,
      limits.layers,
      result.open_layers,
      [&](const model::LayerKey& key) {
        return layer_floor(
            limits.floors, results::layer_series(key.text), limits.layers.change.floor, 0.0);
      },
      [&](const model::LayerKey& key, RoundComparison::Metric metric) {
        metric.subject = key.text;
        metric.test.series = results::layer_series(key.text);
        result.layers.push_back(std::move(metric));
      });
  return result;
}

}  // namespace plumb::analysis
