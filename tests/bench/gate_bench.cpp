// SPDX-License-Identifier: Apache-2.0
//
// How often the gate is wrong, and how often right: seeded simulations of restarted pairs with 1%
// noise of the pair and an offset of 0.5% that lies over each process. The sequential rule as a
// whole (screening, new pairs, all looks), then the test itself at ten pairs.
#include <fmt/format.h>

#include <string>

#include "tests/support/noise_pairs.hpp"

namespace plumb::analysis {
namespace {

constexpr std::size_t kMost = 20;
/// Looks at 6, 10, 15 and 20 pairs.
const SequentialRule& rule() {
  static const SequentialRule kRule;
  return kRule;
}

bool changed(const MetricComparison& metric) {
  return metric.verdict == ComparisonVerdict::kRegressed ||
         metric.verdict == ComparisonVerdict::kImproved;
}

SequentialRule::Limits end_to_end(double level) {
  return {.kind = analysis::MetricKind::kEndToEnd,
          .change = {.level = level, .floor = 0.0, .margin = 0.0}};
}

/// Returns the share of metrics with this change that the sequential rule finds changed.
double sequential_rate(double level, double change, int trials) {
  NoisePairs source(41);
  int found = 0;
  for (int i = 0; i < trials; ++i) {
    const SequentialRule::Pairs metric = source.staged("m", change, rule().looks().front(), kMost);
    found += changed(rule().judge({&metric, 1}, end_to_end(level))[0].metric);
  }
  return static_cast<double>(found) / trials;
}

/// Returns how often one layer of `layers` that is 2% slower is found, and how many others a
/// family.
std::pair<double, double> family_rates(std::size_t layers, int families) {
  NoisePairs source(42);
  int found = 0;
  int wrong = 0;
  for (int i = 0; i < families; ++i) {
    std::vector<SequentialRule::Pairs> family;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      family.push_back(source.staged("l", layer == 0 ? 1.02 : 1.0, rule().looks().front(), kMost));
    }
    const auto results = rule().judge(family,
                                      {.kind = analysis::MetricKind::kLayer,
                                       .change = {.level = 0.05, .floor = 0.0, .margin = 0.0},
                                       .moderated = true});
    found += changed(results[0].metric);
    for (std::size_t layer = 1; layer < layers; ++layer) {
      wrong += changed(results[layer].metric);
    }
  }
  return {static_cast<double>(found) / families, static_cast<double>(wrong) / families};
}

/// Returns how often the test itself finds one layer of `layers` that is 2% slower, at ten pairs.
double single_power(std::size_t layers, int questions) {
  NoisePairs source(43);
  int found = 0;
  for (int i = 0; i < questions; ++i) {
    found += compare_pairs(source.question(layers, 1.02), {}).metrics[1].verdict ==
             ComparisonVerdict::kRegressed;
  }
  return static_cast<double>(found) / questions;
}

int run() {
  constexpr int kTrials = 20'000;
  fmt::print("sequential rule, looks at 6, 10, 15, 20 pairs, {} metrics a row\n", kTrials);
  for (const double level : {0.05, 0.01}) {
    fmt::print("  nominal {:4.0f} %: false alarms {:5.2f} %\n",
               100.0 * level,
               100.0 * sequential_rate(level, 1.0, kTrials));
  }
  for (const double change : {1.01, 1.02, 1.03}) {
    fmt::print("  level 1 %, {:.0f} % slower: found {:.3f}\n",
               100.0 * (change - 1.0),
               sequential_rate(0.01, change, kTrials / 10));
  }
  for (const auto& [layers, families] : {std::pair{40U, 1000}, std::pair{1000U, 100}}) {
    const auto [power, wrong] = family_rates(layers, families);
    fmt::print(
        "  one of {} layers 2 % slower: found {:.3f}, others a family {:.3f} ({} families)\n",
        layers,
        power,
        wrong,
        families);
  }
  fmt::print("the test itself at 10 pairs\n");
  for (const auto& [layers, questions] : {std::pair{40U, 1000}, std::pair{1000U, 200}}) {
    fmt::print("  one of {} layers 2 % slower: found {:.3f} ({} questions)\n",
               layers,
               single_power(layers, questions),
               questions);
  }
  return 0;
}

}  // namespace
}  // namespace plumb::analysis

int main() {
  return plumb::analysis::run();
}
