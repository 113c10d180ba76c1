// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/alarm_control.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/compare/paired_metric.hpp"

namespace plumb::analysis {
namespace {

constexpr double kTail = 0.025;

using Family = std::map<std::string, PairedSamples>;

void add(const results::Measurement& earlier,
         const results::Measurement& later,
         PairedSamples& samples) {
  if (earlier.outcome.timed() && later.outcome.timed()) {
    samples.baseline.push_back(earlier.corrected().median.count());
    samples.candidate.push_back(later.corrected().median.count());
  }
}

/// Pairs every second process of one side with the one before.
void gather(std::span<const results::PairedRound* const> rounds,
            results::RoundSide results::PairedRound::*side,
            Family& layers,
            Family& models) {
  for (std::size_t i = 0; i + 1 < rounds.size(); i += 2) {
    const results::RoundSide& earlier = rounds[i]->*side;
    const results::RoundSide& later = rounds[i + 1]->*side;
    for (const auto& [key, row] : earlier.layers) {
      if (const auto found = later.layers.find(key); found != later.layers.end()) {
        add(row, found->second, layers[key.text]);
      }
    }
    for (const auto& [name, execution] : earlier.models) {
      if (const auto found = later.models.find(name); found != later.models.end()) {
        add(execution.row, found->second.row, models[name.first + " " + name.second]);
      }
    }
  }
}

void count(const Family& family, bool moderate, AlarmControl& control) {
  std::vector<stats::TrimmedMean> samples;
  for (const auto& [name, pairs] : family) {
    if (const PairedMetric metric = paired_metric(pairs, name); metric.log_ratio) {
      samples.push_back(*metric.log_ratio);
    }
  }
  const stats::VariancePrior prior =
      moderate ? stats::variance_prior(samples) : stats::VariancePrior{};
  for (const stats::TrimmedMean& sample : samples) {
    MetricComparison scratch;
    ++control.tests;
    if (test_change(scratch, stats::moderated(sample, prior), control.level) < control.level) {
      ++control.alarms;
    }
  }
}

}  // namespace

AlarmControl alarm_control(std::span<const results::PairedRound* const> rounds) {
  AlarmControl control;
  for (const auto side : {&results::PairedRound::baseline, &results::PairedRound::candidate}) {
    Family layers;
    Family models;
    gather(rounds, side, layers, models);
    count(layers, true, control);
    count(models, false, control);
  }
  if (control.tests > 0) {
    using Binomial = boost::math::binomial_distribution<>;
    const auto trials = static_cast<double>(control.tests);
    const auto alarms = static_cast<double>(control.alarms);
    control.low = Binomial::find_lower_bound_on_p(trials, alarms, kTail);
    control.high = Binomial::find_upper_bound_on_p(trials, alarms, kTail);
  }
  return control;
}

}  // namespace plumb::analysis
