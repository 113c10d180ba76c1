// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/qualify/qualification.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

TEST(Qualification, reads_back_what_it_wrote) {
  Qualification written;
  written.suite = "smoke";
  written.baseline.libraries = {{"library.version", "3.1.1"}};
  written.started = parse_timestamp("2026-11-21T10:00:00.000000Z");
  written.criteria.maximum_error = 1e-4;
  written.criteria.waivers.push_back({.match = "lenet*",
                                      .reason = "retired in March",
                                      .who = "release team",
                                      .expires = "2027-03-01"});
  written.results.push_back(
      {"layer_slowdown", "at most +10%", Qualification::Criterion::State::kWaived, "…", {"x"}});
  written.verdict = QualificationVerdict::kApproveWithExceptions;
  RoundComparison::Metric& layer = written.layers.emplace_back();
  layer.subject = "v1:conv;…";
  layer.test.series = "layers/v1:conv;…";
  layer.test.ratio = 1.25;
  layer.test.baseline = 0.001;
  layer.test.candidate = 0.00125;
  layer.test.low = 1.2;
  layer.test.high = 1.3;
  layer.test.verdict = ComparisonVerdict::kRegressed;
  layer.test.causes.push_back({"implementation removed", 1.0, "jit_wino_4x3 is not there"});
  layer.baseline_seconds = {0.001, 0.0011};
  layer.replay.finding = RoundComparison::PinnedCheck::Finding::kRemoved;
  layer.replay.bound = RoundComparison::PinnedCheck::BoundChange::kCapabilityLost;
  layer.replay.best = layer.test;
  written.layers.emplace_back().test.reason = "the candidate crashed";  // no ratio
  RunComparison::Attribution& split = written.attributions.emplace_back();
  split.subject = "lenet|1|f32|";
  split.layers.emplace_back().layer = "v1:conv;…";
  written.alarms = {.tests = 40, .alarms = 2, .level = 0.05, .low = 0.01, .high = 0.17};
  using OutputVerdict = Qualification::Accuracy::Verdict;
  for (const OutputVerdict verdict : {OutputVerdict::kSameBits,
                                      OutputVerdict::kWithinTolerance,
                                      OutputVerdict::kWorse,
                                      OutputVerdict::kWrong,
                                      OutputVerdict::kDiffers,
                                      OutputVerdict::kNotMeasured}) {
    written.accuracy.push_back({"v1:conv;…", {}, {}, "aa", "bb", verdict});
  }

  const std::string json = to_json(written);
  const Qualification read = qualification_from_json(json);
  EXPECT_EQ(to_json(read), json);
  EXPECT_EQ(read.accuracy[1].verdict, OutputVerdict::kWithinTolerance);
  EXPECT_NE(json.find(R"("verdict":"same bits")"), std::string::npos);
  EXPECT_EQ(read.verdict, QualificationVerdict::kApproveWithExceptions);
  EXPECT_EQ(read.layers[0].test.ratio, 1.25);
  EXPECT_EQ(read.layers[0].replay.bound,
            RoundComparison::PinnedCheck::BoundChange::kCapabilityLost);
  EXPECT_FALSE(read.layers[1].test.ratio.has_value());
  EXPECT_EQ(read.criteria.maximum_error, 1e-4);
  EXPECT_EQ(read.results[0].state, Qualification::Criterion::State::kWaived);
}

TEST(Qualification, reads_what_earlier_versions_wrote) {
  Qualification written;
  written.reason = "the machine moved: controls that no library touches were not the same";
  std::string json = to_json(written);
  for (const char* name : {R"("memory_minimum_bytes":1048576.0,)",
                           R"("creation_minimum_seconds":0.001,)",
                           R"("first_call_minimum_seconds":0.001,)",
                           R"("machine_moved":false,)",
                           R"("stack_changed":false,)",
                           R"("control_failed":false,)",
                           R"("judged_again":false,)"}) {
    const auto at = json.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    json.erase(at, std::strlen(name));
  }
  const Qualification read = qualification_from_json(json);
  EXPECT_EQ(read.criteria.memory_minimum_bytes, 0.0) << "it knew no minimum";
  EXPECT_TRUE(read.machine_moved);
  EXPECT_FALSE(read.stack_changed);
  EXPECT_FALSE(read.control_failed);
}

TEST(Qualification, earlier_versions_told_only_in_words_that_the_control_failed) {
  Qualification written;
  written.reason = "1 of 9 criteria are still open: layer_slowdown; the A/A control failed, so …";
  // Its own numbers do not say by which control an earlier version judged.
  written.alarms = {.tests = 60, .alarms = 30, .level = 0.05, .low = 0.37, .high = 0.63};
  std::string json = to_json(written);
  EXPECT_FALSE(qualification_from_json(json).control_failed);
  const std::string field = R"("control_failed":false,)";
  const auto at = json.find(field);
  ASSERT_NE(at, std::string::npos);
  json.erase(at, field.size());
  EXPECT_TRUE(qualification_from_json(json).control_failed);
}

TEST(Qualification, layers_keep_their_places_and_earlier_ones_have_none) {
  Qualification written;
  written.layers.emplace_back().place = "conv1 of lenet, batch 1, f32";
  std::string json = to_json(written);
  EXPECT_EQ(qualification_from_json(json).layers[0].place, written.layers[0].place);
  const std::string place = R"("place":"conv1 of lenet, batch 1, f32",)";
  const auto at = json.find(place);
  ASSERT_NE(at, std::string::npos);
  json.erase(at, place.size());
  EXPECT_EQ(qualification_from_json(json).layers.at(0).place, "");
}

TEST(Qualification, refuses_what_is_none) {
  EXPECT_THROW(static_cast<void>(qualification_from_json("{}")), Error);
  EXPECT_THROW(static_cast<void>(qualification_from_json("[1,2")), Error);
  std::string json = to_json(Qualification{});
  json.replace(json.find("not_enough_evidence"), 3, "yes");
  EXPECT_THROW(static_cast<void>(qualification_from_json(json)), Error);
}

}  // namespace
}  // namespace plumb::analysis
