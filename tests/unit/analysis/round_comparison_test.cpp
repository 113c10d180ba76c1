// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/round_comparison.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "harness/analysis/qualify/qualification.hpp"
#include "tests/support/round_builder.hpp"

namespace plumb::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kWinograd = "impl=jit_wino_4x3:avx512_core;layout=any";
const std::string kJit = "impl=jit:avx512_core;layout=any";

/// Two layers and a model of both; the first layer changes by a factor.
RoundBuilder built(std::size_t rounds, double factor, std::uint64_t seed = 1) {
  RoundBuilder builder(seed);
  for (std::size_t i = 0; i < rounds; ++i) {
    results::PairedRound& round = builder.add();
    builder.layer(round.baseline, "first", kWinograd, 1e-3);
    builder.layer(round.candidate, "first", factor > 1.0 ? kJit : kWinograd, 1e-3 * factor);
    builder.layer(round.baseline, "second", kJit, 2e-3);
    builder.layer(round.candidate, "second", kJit, 2e-3);
    builder.model(round.baseline, "m", 3.1e-3, {{"first", 1e-3}, {"second", 2e-3}});
    builder.model(
        round.candidate, "m", 2.1e-3 + 1e-3 * factor, {{"first", 1e-3 * factor}, {"second", 2e-3}});
  }
  return builder;
}

const SequentialRule& rule() {
  static const SequentialRule kRule(design_for(10));
  return kRule;
}

Qualification judged(const std::vector<results::PairedRound>& rounds,
                     Qualification::Criteria criteria = {}) {
  Qualification q;
  q.criteria = std::move(criteria);
  RoundComparison comparison = compare_rounds(rounds, rule(), {});
  q.machine_moved = comparison.drift.moved;
  q.complete = !comparison.open();
  add_evidence(rounds, std::move(comparison), q);
  q.layers.front().models = {"m"};
  add_findings(q);
  judge_criteria(q);
  return q;
}

const Qualification::Criterion& result_of(const Qualification& q, const std::string& name) {
  return *std::find_if(
      q.results.begin(), q.results.end(), [&](const Qualification::Criterion& result) {
        return result.criterion == name;
      });
}

TEST(RoundComparison, two_equal_stacks_are_approved_after_the_screening) {
  const Qualification q = judged(built(3, 1.0).rounds());
  EXPECT_EQ(q.verdict, QualificationVerdict::kNotEnoughEvidence);  // 3 pairs: wide intervals
  const Qualification more = judged(built(10, 1.0).rounds());
  EXPECT_EQ(more.verdict, QualificationVerdict::kApprove) << more.reason;
  for (const RoundComparison::Metric& metric : more.layers) {
    EXPECT_EQ(metric.test.verdict, ComparisonVerdict::kEquivalent);
  }
  EXPECT_TRUE(more.findings.empty());
  EXPECT_NEAR(more.geometric_means.at(0).value, 1.0, 0.005);
}

TEST(RoundComparison, a_slower_layer_is_found_named_and_attributed) {
  const Qualification q = judged(built(10, 1.5).rounds());
  EXPECT_EQ(q.verdict, QualificationVerdict::kReject);
  EXPECT_EQ(q.layers[0].test.verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(q.layers[1].test.verdict, ComparisonVerdict::kEquivalent);
  EXPECT_EQ(q.models[0].test.verdict, ComparisonVerdict::kRegressed);
  ASSERT_EQ(q.findings.size(), 1U);
  EXPECT_EQ(q.findings[0].cause, "implementation family changed: winograd → jit");
  EXPECT_THAT(q.findings[0].models, testing::ElementsAre("m"));
  ASSERT_EQ(q.attributions.size(), 1U);
  EXPECT_EQ(q.attributions[0].layers[0].layer, "first");
  EXPECT_NEAR(q.attributions[0].layers[0].seconds, 5e-4, 2e-5);
  EXPECT_NEAR(q.attributions[0].unexplained_seconds, 0.0, 3e-5);
  EXPECT_EQ(q.models[0].test.causes.at(0).cause, "layer first");
  EXPECT_NEAR(q.models[0].test.causes.at(0).share, 1.0, 0.06);
}

TEST(RoundComparison, waivers_excuse_until_they_expire) {
  Qualification::Criteria criteria;
  criteria.waivers.push_back({"first", "replaced next month", "team", "2027-01-31", false, {}});
  criteria.waivers.push_back({"m *", "likewise", "team", "2027-01-31", false, {}});
  criteria.waivers.push_back({"geometric mean*", "likewise", "team", "2027-01-31", false, {}});
  const Qualification q = judged(built(10, 1.5).rounds(), criteria);
  EXPECT_EQ(q.verdict, QualificationVerdict::kApproveWithExceptions) << q.reason;
  EXPECT_EQ(q.layers[0].waived_by, "replaced next month");
  EXPECT_THAT(q.criteria.waivers[1].applied_to, testing::ElementsAre("m plain"));
  criteria.waivers[0].expired = true;
  EXPECT_EQ(judged(built(10, 1.5).rounds(), criteria).verdict, QualificationVerdict::kReject);
}

TEST(RoundComparison, a_growth_too_small_to_matter_fails_no_criterion) {
  std::vector<results::PairedRound> rounds = built(10, 1.0).rounds();
  const auto with_memory = [&](std::int64_t before, std::int64_t after) {
    for (results::PairedRound& round : rounds) {
      round.baseline.models.begin()->second.memory = Bytes{before};
      round.candidate.models.begin()->second.memory = Bytes{after};
    }
  };
  const std::int64_t kibi = 1024;
  with_memory(1000 * kibi, 1090 * kibi);  // 9% of little
  Qualification q = judged(rounds);
  EXPECT_EQ(q.verdict, QualificationVerdict::kApprove) << q.reason;
  EXPECT_EQ(result_of(q, "memory_growth").limit, "at most +5%, counted from 1 MiB");
  EXPECT_EQ(result_of(q, "memory_growth").found,
            "the largest is +9.0%, 1000 KiB → 1.064 MiB: m plain");
  with_memory(20'000 * kibi, 21'800 * kibi);  // as many percent of more
  q = judged(rounds);
  EXPECT_EQ(q.verdict, QualificationVerdict::kReject);
  EXPECT_THAT(result_of(q, "memory_growth").cases, testing::ElementsAre("m plain memory"));

  Qualification::Criteria criteria;
  criteria.file = "loose.toml";
  criteria.memory_minimum_bytes = 2.0 * 1024 * 1024;
  criteria.control_drift = 9.0;
  judge_again(q, criteria);
  EXPECT_EQ(q.verdict, QualificationVerdict::kApprove) << q.reason;
  EXPECT_THAT(q.notes.back(), HasSubstr("the verdict before was reject: 1 of 9 criteria failed"));
  EXPECT_EQ(q.criteria.control_drift, 0.10) << "the rounds were chosen by it";
  EXPECT_TRUE(q.judged_again);
}

TEST(RoundComparison, judging_again_keeps_what_criteria_cannot_mend) {
  std::vector<results::PairedRound> rounds = built(10, 1.5).rounds();
  Qualification q = judged(rounds);
  Qualification::Criteria criteria;
  criteria.waivers.push_back({"first", "known", "team", "2027-01-31", false, {}});
  judge_again(q, criteria);
  EXPECT_EQ(q.layers[0].waived_by, "known");
  judge_again(q, {});
  EXPECT_EQ(q.layers[0].waived_by, "") << "these criteria waive nothing";
  q.machine_moved = true;
  judge_again(q, {});
  EXPECT_THAT(q.reason, HasSubstr("the machine drifted"));
  q.stack_changed = true;
  judge_again(q, {});
  EXPECT_EQ(q.verdict, QualificationVerdict::kNotEnoughEvidence);
  EXPECT_THAT(q.reason, HasSubstr("a stack changed"));
}

TEST(RoundComparison, what_worked_and_does_no_more_is_broken) {
  RoundBuilder builder = built(10, 1.0);
  std::vector<results::PairedRound> rounds = builder.rounds();
  results::Measurement& gone = rounds[0].candidate.layers.at(model::LayerKey{"second"});
  gone = {};
  gone.outcome = {results::Outcome::Kind::kWrongResult, "differs by 3"};
  const Qualification q = judged(rounds);
  EXPECT_EQ(q.layers[1].test.verdict, ComparisonVerdict::kBroken);
  EXPECT_THAT(q.layers[1].test.reason, HasSubstr("differs by 3"));
  EXPECT_EQ(result_of(q, "new_unsupported").state, Qualification::Criterion::State::kFailed);
  EXPECT_EQ(result_of(q, "maximum_error").state, Qualification::Criterion::State::kFailed);
}

TEST(RoundComparison, one_crash_is_not_a_break_and_two_are) {
  std::vector<results::PairedRound> rounds = built(10, 1.0).rounds();
  const auto crash = [&](std::size_t round) {
    results::Measurement& row = rounds[round].candidate.layers.at(model::LayerKey{"second"});
    row = {};
    row.outcome = {results::Outcome::Kind::kCrashed, "signal 11"};
  };
  crash(4);
  EXPECT_NE(compare_rounds(rounds, rule(), {}).layers[1].test.verdict, ComparisonVerdict::kBroken);
  crash(7);
  const RoundComparison twice = compare_rounds(rounds, rule(), {});
  EXPECT_EQ(twice.layers[1].test.verdict, ComparisonVerdict::kBroken);
  EXPECT_THAT(twice.layers[1].test.reason, StartsWith("2 of 10 processes"));
}

TEST(RoundComparison, what_the_baseline_never_did_is_no_regression) {
  std::vector<results::PairedRound> rounds = built(10, 1.0).rounds();
  for (results::PairedRound& round : rounds) {
    round.baseline.layers.at(model::LayerKey{"second"}).outcome = {
        results::Outcome::Kind::kUnsupported, "no"};
  }
  const RoundComparison comparison = compare_rounds(rounds, rule(), {});
  EXPECT_EQ(comparison.layers[1].test.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_THAT(comparison.layers[1].test.reason, HasSubstr("the candidate can"));
  EXPECT_FALSE(comparison.open_layers.contains(model::LayerKey{"second"}));
}

TEST(ControlDrift, a_round_whose_controls_moved_does_not_count) {
  std::vector<results::PairedRound> rounds = built(10, 1.0).rounds();
  rounds[3].candidate.controls->product *= 1.4;
  rounds[5].candidate.controls.reset();
  const RoundComparison comparison = compare_rounds(rounds, rule(), {});
  EXPECT_EQ(comparison.valid, 8U);
  ASSERT_EQ(comparison.drift.invalid.size(), 2U);
  EXPECT_EQ(comparison.drift.invalid[0].round, 4U);
  EXPECT_THAT(comparison.drift.invalid[0].reason, HasSubstr("'product'"));
  EXPECT_FALSE(comparison.drift.moved);
}

TEST(ControlDrift, no_valid_round_is_no_approval) {
  std::vector<results::PairedRound> rounds = built(2, 1.0).rounds();
  rounds[0].complete = false;
  rounds[1].baseline.controls.reset();
  Qualification q;
  add_evidence(rounds, compare_rounds(rounds, rule(), {}), q);
  judge_criteria(q);
  EXPECT_EQ(q.verdict, QualificationVerdict::kNotEnoughEvidence);
  EXPECT_THAT(q.reason, HasSubstr("no round is valid"));
}

TEST(ControlDrift, a_machine_that_is_slower_for_one_side_decides_nothing) {
  std::vector<results::PairedRound> rounds = built(10, 1.5).rounds();
  for (results::PairedRound& round : rounds) {
    round.candidate.controls->product *= 1.05;
  }
  const Qualification q = judged(rounds);
  EXPECT_EQ(q.verdict, QualificationVerdict::kNotEnoughEvidence);
  EXPECT_THAT(q.reason, HasSubstr("the machine drifted"));
}

constexpr std::size_t kControlLayers = 30;
constexpr std::size_t kScreeningPairs = 6;  // of the rule below

const SequentialRule& twenty_pairs() {
  static const SequentialRule kRule(design_for(20));
  return kRule;
}

/// Six rounds of thirty layers. `host` slows both sides of a round, `wander` its candidate.
std::vector<results::PairedRound> rounds_of_layers(std::uint64_t seed,
                                                   const std::vector<double>& host,
                                                   const std::vector<double>& wander) {
  RoundBuilder builder(seed);
  for (std::size_t i = 0; i < kScreeningPairs; ++i) {
    results::PairedRound& round = builder.add();
    for (std::size_t layer = 0; layer < kControlLayers; ++layer) {
      const std::string key = std::to_string(layer);
      builder.layer(round.baseline, key, "v", 1e-3 * host[i]);
      builder.layer(round.candidate, key, "v", 1e-3 * host[i] * wander[i]);
    }
  }
  return builder.rounds();
}

Qualification judged_layers(const std::vector<results::PairedRound>& rounds) {
  Qualification q;
  RoundComparison comparison = compare_rounds(rounds, twenty_pairs(), {});
  q.machine_moved = comparison.drift.moved;
  q.complete = !comparison.open();
  add_evidence(rounds, std::move(comparison), q);
  judge_criteria(q);
  return q;
}

// The product of SqueezeNet's qualification of 2026-11-27: odd rounds are slower.
const std::vector<double> kHostDrift{1.03, 0.998, 1.027, 1.007, 1.027, 0.993};
const std::vector<double> kSteadyRatio(kScreeningPairs, 1.0);
const std::vector<double> kWanderingRatio{1.0, 1.0, 1.0, 1.03, 1.03, 1.03};

TEST(AlarmControl, keeps_its_level_on_a_machine_that_drifts_and_between_unlike_stacks) {
  constexpr std::size_t kTrials = 100;
  const std::vector<double> slower(kScreeningPairs, 1.2);  // a change is no alarm
  for (const std::vector<double>& change : {kSteadyRatio, slower}) {
    std::size_t alarms = 0;
    std::size_t failed = 0;
    for (std::size_t trial = 0; trial < kTrials; ++trial) {
      const Qualification q = judged_layers(rounds_of_layers(trial + 1, kHostDrift, change));
      ASSERT_EQ(q.alarms.tests, kControlLayers);
      alarms += q.alarms.alarms;
      failed += q.alarms.failed() ? 1U : 0U;
    }
    const auto tests = static_cast<double>(kTrials * kControlLayers);
    const double rate = static_cast<double>(alarms) / tests;
    EXPECT_NEAR(rate, 0.05, 4.0 * std::sqrt(0.05 * 0.95 / tests)) << "four binomial deviations";
    EXPECT_LE(failed, 3U);
  }
}

TEST(AlarmControl, where_it_fails_no_time_decides) {
  std::vector<results::PairedRound> rounds = rounds_of_layers(1, kSteadyRatio, kSteadyRatio);
  EXPECT_EQ(judged_layers(rounds).verdict, QualificationVerdict::kApprove);

  rounds = rounds_of_layers(1, kSteadyRatio, kWanderingRatio);
  Qualification q = judged_layers(rounds);
  EXPECT_TRUE(q.control_failed);
  EXPECT_GT(q.alarms.alarms, 20U);
  EXPECT_EQ(q.verdict, QualificationVerdict::kNotEnoughEvidence);
  EXPECT_THAT(q.reason, HasSubstr("the A/A control failed"));
  EXPECT_EQ(result_of(q, "layer_slowdown").state, Qualification::Criterion::State::kOpen);

  rounds[0].candidate.layers.at(model::LayerKey{"7"}).outcome = {
      results::Outcome::Kind::kWrongResult, "differs by 3"};
  q = judged_layers(rounds);
  EXPECT_EQ(q.verdict, QualificationVerdict::kReject) << "a wrong result is no question of times";
  EXPECT_THAT(q.reason, HasSubstr("the A/A control failed"));
}

TEST(AlarmControl, where_it_fails_a_slow_down_does_not_reject) {
  Qualification q = judged(built(10, 1.5).rounds());
  ASSERT_EQ(q.verdict, QualificationVerdict::kReject);
  q.alarms = {.tests = 60, .alarms = 30, .level = 0.05, .low = 0.37, .high = 0.63};
  judge_criteria(q);
  EXPECT_EQ(q.verdict, QualificationVerdict::kNotEnoughEvidence);
  EXPECT_EQ(q.reason,
            "3 of 9 criteria are still open: model_slowdown, geometric_mean, layer_slowdown; the "
            "A/A control failed, so times of models and layers decide nothing: 30 of 60 tests "
            "without a change alarm at 5%; not measured: creation_growth, first_call_growth");
  EXPECT_THAT(result_of(q, "model_slowdown").cases, testing::ElementsAre("m plain"));

  q.alarms = {.tests = 3, .alarms = 3, .level = 0.05, .low = 0.29, .high = 1.0};
  judge_criteria(q);
  EXPECT_EQ(q.verdict, QualificationVerdict::kReject) << "three metrics may move together";
}

TEST(AlarmControl, judging_again_computes_it_again) {
  Qualification q = judged_layers(rounds_of_layers(1, kHostDrift, kSteadyRatio));
  // An earlier version compared each side alone with itself.
  q.alarms = {.tests = 74, .alarms = 26, .level = 0.05, .low = 0.24, .high = 0.47};
  judge_again(q, {});
  EXPECT_EQ(q.alarms.tests, kControlLayers);
  EXPECT_FALSE(q.control_failed);
  EXPECT_EQ(q.verdict, QualificationVerdict::kApprove) << q.reason;
}

TEST(Accuracy, tells_bits_tolerance_and_what_got_worse) {
  std::vector<results::PairedRound> rounds = built(10, 1.0).rounds();
  results::Measurement& after = rounds[0].candidate.layers.at(model::LayerKey{"second"});
  for (results::PairedRound& round : rounds) {
    round.candidate.layers.at(model::LayerKey{"second"}).output_hash = "other";
  }
  rounds[0].baseline.layers.at(model::LayerKey{"second"}).maximum_error = 1e-7;
  after.maximum_error = 1.5e-7;
  const auto verdict = [&] {
    const Qualification q = judged(rounds);
    return std::find_if(q.accuracy.begin(),
                        q.accuracy.end(),
                        [](const auto& each) { return each.subject == "second"; })
        ->verdict;
  };
  EXPECT_EQ(verdict(), Qualification::Accuracy::Verdict::kWithinTolerance);
  after.maximum_error = 1e-6;
  EXPECT_EQ(verdict(), Qualification::Accuracy::Verdict::kWorse);
  Qualification::Criteria criteria;
  criteria.maximum_error = 5e-7;
  EXPECT_EQ(result_of(judged(rounds, criteria), "maximum_error").state,
            Qualification::Criterion::State::kFailed);
}

}  // namespace
}  // namespace plumb::analysis
