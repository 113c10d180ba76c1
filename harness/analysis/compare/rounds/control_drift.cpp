// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/control_drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "harness/analysis/compare/paired_metric.hpp"

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

QualifiedControl judged(const Control& control,
                        std::span<const results::PairedRound* const> valid) {
  QualifiedControl result;
  result.name = control.name;
  PairedSamples samples{control.name, {}, {}};
  for (const results::PairedRound* round : valid) {
    samples.baseline.push_back(((*round->baseline.controls).*control.time).count());
    samples.candidate.push_back(((*round->candidate.controls).*control.time).count());
  }
  result.baseline_seconds = samples.baseline;
  result.candidate_seconds = samples.candidate;
  PairedMetric metric =
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

ControlDrift control_drift(std::span<const results::PairedRound> rounds, double limit) {
  ControlDrift drift;
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

}  // namespace plumb::analysis
