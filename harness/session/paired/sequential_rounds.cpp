// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/sequential_rounds.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "harness/base/timestamp.hpp"

namespace plumb::session {
namespace {

void keep_open(PairedWork& work, const analysis::RoundComparison& comparison) {
  std::erase_if(work.layers,
                [&](const model::LayerKey& key) { return !comparison.open_layers.contains(key); });
  // All modes of an open model stay: only modes that are timed in turns can be compared.
  std::erase_if(work.models, [&](const PairedWork::Model& model) {
    return std::none_of(
        comparison.open_models.begin(),
        comparison.open_models.end(),
        [&](const results::ModelMode& mode) { return mode.first == model.subject; });
  });
}

}  // namespace

SequentialRounds measure_in_sequence(PairedRounds& pairs,
                                     PairedWork work,
                                     const RoundJudge& judge,
                                     std::optional<Seconds> budget,
                                     const std::function<void(const Progress&)>& report) {
  const std::vector<std::size_t>& looks = judge.looks;
  const std::size_t wanted = looks.back();
  // Invalid rounds do not count, so more are allowed than the rule wants.
  const std::size_t most = wanted + wanted / 2;
  const Seconds start = steady_time();
  SequentialRounds result;
  Progress progress;
  progress.unit = "pairs";
  progress.total = wanted;
  while (result.rounds.size() < most) {
    result.rounds.push_back(pairs.measure(work, [&](const std::string& current) {
      progress.current = current;
      progress.elapsed = steady_time() - start;
      report(progress);
    }));
    const std::size_t before = result.comparison.valid;
    result.comparison = judge.compare(result.rounds);
    const std::size_t valid = result.comparison.valid;
    progress.done = valid;
    progress.elapsed = steady_time() - start;
    progress.left = progress.elapsed * (static_cast<double>(wanted - valid) /
                                        static_cast<double>(result.rounds.size()));
    if (valid != before && std::find(looks.begin(), looks.end(), valid) != looks.end()) {
      const analysis::RoundComparison& comparison = result.comparison;
      result.looks.push_back(
          {valid, comparison.open_models.size() + comparison.open_layers.size()});
      if (!comparison.open()) {
        break;
      }
      keep_open(work, comparison);
    }
    result.budget_ended = budget && progress.elapsed >= *budget && valid < wanted;
    if (!result.rounds.back().complete || valid >= wanted || result.budget_ended) {
      break;
    }
  }
  return result;
}

SequentialRounds measure_in_sequence(PairedRounds& pairs,
                                     PairedWork work,
                                     const analysis::SequentialRule& rule,
                                     const analysis::RoundLimits& limits,
                                     std::optional<Seconds> budget,
                                     const std::function<void(const Progress&)>& report) {
  const RoundJudge judge{rule.looks(), [&](std::span<const results::PairedRound> rounds) {
                           return analysis::compare_rounds(rounds, rule, limits);
                         }};
  return measure_in_sequence(pairs, std::move(work), judge, budget, report);
}

}  // namespace plumb::session
