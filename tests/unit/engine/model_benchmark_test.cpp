// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/model_benchmark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <span>

#include "harness/measure/sample_summary.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/engine/listed_monitor.hpp"
#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb::engine {
namespace {

using testing::Key;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

constexpr const char* kLook = "observe impl=scripted 0";

/// A model of one layer, in two modes that are timed in turns.
class Models : public ::testing::Test {
 protected:
  Models() {
    onnx::ModelProto model;
    const auto status =
        onnx::OnnxParser::Parse(model,
                                "<ir_version: 8, opset_import: [\"\": 17]>"
                                "g (float[1,64] x) => (float[1,64] y) { y = Relu(x) }");
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
    request_.name = "relu";
    request_.model = model.SerializeAsString();
    request_.modes = {{}, {{.fusion = true}, {}}};
    request_.sampling = {.budget = Seconds(0.3), .samples_at_least = 3, .samples_at_most = 20};
    variant_.variant.text = "impl=scripted";
  }

  std::vector<results::Execution> executed(BlockMonitor& monitor) {
    ScriptedBackend backend({variant_});
    LayerTiming timing(
        backend.script.clock(), [] { return measure::Disturbance::Reading{}; }, &monitor);
    std::vector<results::Execution> result;
    ModelBenchmark(backend, timing, request_)
        .run(
            [&](results::Execution execution) { result.push_back(std::move(execution)); },
            [&](const worker::ExecuteRequest::Progress& progress) { reports_.push_back(progress); },
            [&] { ++turns_; });
    log_ = backend.script.log;
    return result;
  }

  [[nodiscard]] std::ptrdiff_t logged(const std::string& line) const {
    return std::count(log_.begin(), log_.end(), line);
  }

  worker::ExecuteRequest request_;
  ScriptedVariant variant_{};
  std::vector<std::string> log_;
  std::vector<worker::ExecuteRequest::Progress> reports_;
  std::size_t turns_ = 0;
};

TEST_F(Models, rows_have_what_is_seen_and_read_beside_all_their_blocks) {
  variant_.observed.attributes = {{"kernels", "[]"}, {"tensor_cores", "no"}};
  variant_.observed.readings = {{"energy_joules", {0.5, 0.4, 0.6, 3}}};
  ListedMonitor monitor({{{{"sm_clock_hertz", {1.9e9, 1.8e9, 1.95e9, 1}}}, false, ""}});
  const std::vector<results::Execution> executions = executed(monitor);
  ASSERT_EQ(executions.size(), 2U);
  for (const results::Execution& execution : executions) {
    const results::Measurement& row = execution.row;
    ASSERT_TRUE(row.outcome.timed()) << row.outcome.reason;
    EXPECT_EQ(row.attributes, variant_.observed.attributes);
    EXPECT_EQ(row.readings.at("energy_joules"), (results::Reading{0.5, 0.4, 0.6, 3}));
    EXPECT_EQ(row.readings.at("sm_clock_hertz"), (results::Reading{1.9e9, 1.8e9, 1.95e9, 32}))
        << "each of the 32 rounds of a quick model once";
  }
  EXPECT_EQ(logged(kLook), 2) << "once a mode";
}

// A pass over the steps takes as long as ten executions: in the seven rounds after the first
// it is made in four parts.
TEST_F(Models, are_timed_between_parts_of_a_pass_over_their_steps) {
  variant_.hot = Seconds(0.01);
  variant_.steps = 4;
  variant_.step_in_context = Seconds(0.02);
  ListedMonitor monitor({{{{"sm_clock_hertz", {1.9e9, 1.8e9, 1.95e9, 1}}}, false, ""}});
  const std::vector<results::Execution> executions = executed(monitor);
  ASSERT_EQ(executions.size(), 2U);
  EXPECT_EQ(logged("in turn 4"), 2);
  EXPECT_EQ(logged("in turn 1"), 2 * 3 * 4);
  for (const results::Execution& execution : executions) {
    EXPECT_EQ(execution.row.readings.at("sm_clock_hertz").n, 1 + 3 * 4) << "timed beside each";
    EXPECT_GE(execution.row.samples.size(), 1U + 3U * 4U);
    ASSERT_TRUE(execution.in_context);
    EXPECT_NEAR(execution.in_context->median.count(), 0.08, 1e-6);
  }
}

// Samples of a round are alike, rounds are not: their number makes the median no surer.
TEST_F(Models, have_an_interval_as_wide_as_their_rounds_differ) {
  constexpr std::size_t kRounds = 4;
  constexpr std::size_t kEach = 3;
  request_.sampling.samples_at_most = kEach;
  variant_.hot = Seconds(0.004);
  variant_.drift = 0.2;
  ListedMonitor monitor({{{}, false, ""}});
  for (const results::Execution& execution : executed(monitor)) {
    const std::vector<Seconds>& samples = execution.row.samples;
    ASSERT_EQ(samples.size(), kRounds * kEach);
    std::vector<Seconds> of_rounds;
    for (std::size_t round = 0; round < kRounds; ++round) {
      of_rounds.push_back(
          measure::summarize(std::span(samples).subspan(round * kEach, kEach)).median);
    }
    const measure::SampleSummary by_ranks = measure::summarize(samples);
    const measure::Interval by_rounds = measure::section_interval(by_ranks.median, of_rounds);
    EXPECT_EQ(execution.row.summary.median, by_ranks.median);
    const measure::Interval& interval = execution.row.summary.interval;
    EXPECT_EQ(interval.low, std::min(by_rounds.low, by_ranks.interval.low));
    EXPECT_EQ(interval.high, std::max(by_rounds.high, by_ranks.interval.high));
    EXPECT_LT(interval.low, by_ranks.interval.low);
  }
}

// The first mode has nothing but the reference to be compared with.
TEST_F(Models, are_compared_with_the_reference) {
  ListedMonitor monitor({{{}, false, ""}});
  for (const results::Execution& execution : executed(monitor)) {
    EXPECT_TRUE(execution.row.outcome.timed()) << execution.row.outcome.reason;
    EXPECT_EQ(execution.row.maximum_error, 0.0);
  }
  variant_.wrong = true;
  for (const results::Execution& execution : executed(monitor)) {
    EXPECT_EQ(execution.row.outcome.kind, results::Outcome::Kind::kWrongResult);
    EXPECT_THAT(execution.row.outcome.reason, ::testing::HasSubstr("float64 reference"));
  }
  request_.verify = false;
  const std::vector<results::Execution> later = executed(monitor);
  EXPECT_TRUE(later.front().row.outcome.timed()) << "a later process does not compare again";
  EXPECT_FALSE(later.front().row.maximum_error);
}

TEST_F(Models, are_wrong_if_they_compute_something_else_launch_by_launch) {
  variant_.wrong_at_once = true;
  ListedMonitor monitor({{{}, false, ""}});
  for (const results::Execution& execution : executed(monitor)) {
    EXPECT_EQ(execution.row.outcome.kind, results::Outcome::Kind::kWrongResult);
    EXPECT_THAT(execution.row.outcome.reason, ::testing::HasSubstr("one after the other"));
    EXPECT_TRUE(execution.row.samples.empty()) << "never timed";
  }
}

// 40 MiB each: together they fit into 100 MiB, not into 95, of which a fifth stays free.
TEST_F(Models, are_timed_one_after_the_other_where_the_devices_memory_is_short) {
  constexpr Bytes kEach{std::int64_t{40} << 20};
  const auto in_turns = [&](std::optional<Bytes> free) {
    ListedMonitor monitor({{{}, false, ""}});
    ScriptedBackend backend({variant_});
    backend.model_memory = kEach;
    backend.free = free;
    LayerTiming timing(
        backend.script.clock(), [] { return measure::Disturbance::Reading{}; }, &monitor);
    ModelBenchmark(backend, timing, request_).run([](const results::Execution& execution) {
      EXPECT_TRUE(execution.row.outcome.timed()) << execution.row.outcome.reason;
    });
    const std::vector<std::string>& log = backend.script.log;
    const auto dropped = std::find(log.begin(), log.end(), "drop impl=scripted");
    return std::count(log.begin(), dropped, "bind impl=scripted 0") == 2;
  };
  EXPECT_TRUE(in_turns(Bytes{std::int64_t{100} << 20}));
  EXPECT_FALSE(in_turns(Bytes{std::int64_t{95} << 20}));
  EXPECT_TRUE(in_turns(std::nullopt)) << "the host has gigabytes";
}

TEST_F(Models, that_do_not_fit_say_how_much_they_take) {
  variant_.throws = "bad_alloc";
  ListedMonitor monitor({{{}, false, ""}});
  ScriptedBackend backend({variant_});
  backend.model_memory = Bytes{std::int64_t{40} << 20};
  LayerTiming timing(
      backend.script.clock(), [] { return measure::Disturbance::Reading{}; }, &monitor);
  std::size_t rows = 0;
  ModelBenchmark(backend, timing, request_).run([&](const results::Execution& execution) {
    EXPECT_EQ(execution.row.outcome.kind, results::Outcome::Kind::kOutOfMemory);
    EXPECT_THAT(execution.row.outcome.reason,
                ::testing::HasSubstr("executing it takes 41943040 bytes"));
    ++rows;
  });
  EXPECT_EQ(rows, 2U);
}

// Two tensors of 256 bytes, beside 1280 for a layer of the reference.
TEST_F(Models, are_not_executed_where_verifying_them_needs_more_than_is_free) {
  ListedMonitor monitor({{{}, false, ""}});
  ScriptedBackend backend({variant_});
  backend.model_memory = Bytes{std::int64_t{1} << 60};
  LayerTiming timing(
      backend.script.clock(), [] { return measure::Disturbance::Reading{}; }, &monitor);
  std::vector<results::Outcome> outcomes;
  ModelBenchmark(backend, timing, request_).run([&](const results::Execution& execution) {
    outcomes.push_back(execution.row.outcome);
  });
  ASSERT_EQ(outcomes.size(), 2U);
  for (const results::Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.kind, results::Outcome::Kind::kOutOfMemory);
    EXPECT_THAT(outcome.reason, StartsWith("1152921504606848768 bytes of memory are needed, and "));
    EXPECT_THAT(outcome.reason,
                ::testing::EndsWith("; executing it takes 1152921504606846976 bytes, and verifying "
                                    "it 1792 bytes more"));
  }
  const std::vector<std::string>& log = backend.script.log;
  EXPECT_EQ(std::count(log.begin(), log.end(), "bind impl=scripted 0"), 0);
}

TEST_F(Models, tell_once_a_second_how_far_they_are) {
  variant_.hot = Seconds(0.5);  // three in a round and mode: longer than the budget
  ListedMonitor monitor({{{}, false, ""}});
  static_cast<void>(executed(monitor));
  constexpr std::size_t kParts = 2;  // the first after preparing, one after the reference's layer
  ASSERT_EQ(reports_.size(), kParts + 2U * 4U);
  for (std::size_t i = 0; i < kParts; ++i) {
    EXPECT_GT(reports_[i].share, i == 0 ? 0.0 : reports_[i - 1].share) << "as after a hang";
    EXPECT_LT(reports_[i].share, 0.001);
  }
  for (std::size_t i = kParts; i < reports_.size(); ++i) {
    const auto turn = static_cast<double>(i - kParts + 1);
    EXPECT_DOUBLE_EQ(reports_[i].share, turn / 8.0);
    EXPECT_GT(reports_[i].elapsed, Seconds(turn - 1.0));
  }
}

// After the first of four rounds it is known that there will be 32.
TEST_F(Models, are_never_further_from_the_end_than_they_were) {
  variant_.hot = Seconds(0.02);
  variant_.scatter = 0.2;
  request_.sampling.budget = Seconds(40.0);
  request_.sampling.samples_at_most = 100000;
  ListedMonitor monitor({{{}, false, ""}});
  static_cast<void>(executed(monitor));
  ASSERT_EQ(reports_.size(), 1U + 2U * 32U);
  double before = -1.0;
  for (const worker::ExecuteRequest::Progress& report : reports_) {
    EXPECT_GT(report.share, before);
    before = report.share;
  }
  EXPECT_DOUBLE_EQ(before, 1.0);
  EXPECT_DOUBLE_EQ(reports_[2].share, 1.0 / 4.0) << "the first round";
}

TEST_F(Models, of_a_later_process_are_timed_without_their_steps) {
  request_.profile = false;
  variant_.hot = Seconds(0.01);
  variant_.steps = 4;
  variant_.step_in_context = Seconds(0.02);
  ListedMonitor monitor({{{}, false, ""}});
  const std::vector<results::Execution> executions = executed(monitor);
  EXPECT_EQ(logged("in turn 4"), 0);
  for (const results::Execution& execution : executions) {
    EXPECT_GE(execution.row.samples.size(), 9U) << "three rounds of three at least";
    EXPECT_TRUE(execution.layers.empty());
    EXPECT_FALSE(execution.in_context);
  }
}

// Beside another worker a model has many short rounds, as many as the budget allows.
TEST_F(Models, await_a_turn_before_each_round) {
  request_.profile = false;
  request_.in_turns = true;
  variant_.hot = Seconds(0.001);
  ListedMonitor monitor({{{}, false, ""}});
  for (const results::Execution& execution : executed(monitor)) {
    EXPECT_TRUE(execution.row.outcome.timed());
    EXPECT_GE(execution.row.samples.size(), 32U);
  }
  EXPECT_EQ(turns_, 32U);
  turns_ = 0;
  variant_.hot = Seconds(0.03);
  EXPECT_EQ(executed(monitor).size(), 2U);
  EXPECT_EQ(turns_, 9U) << "0.3 s in rounds of one execution of a little over 0.03 s";
  turns_ = 0;
  variant_.hot = Seconds(0.4);
  for (const results::Execution& execution : executed(monitor)) {
    EXPECT_THAT(execution.row.samples, SizeIs(2)) << "one in each of two rounds, however long";
  }
  EXPECT_EQ(turns_, 2U);
  turns_ = 0;
  request_.in_turns = false;
  EXPECT_EQ(executed(monitor).size(), 2U);
  EXPECT_EQ(turns_, 0U);
}

// The first round of both modes takes longer than two minutes: there is no second one.
TEST_F(Models, end_after_a_minute_a_mode) {
  variant_.hot = Seconds(30.0);
  ListedMonitor monitor({{{{"sm_clock_hertz", {1.9e9, 1.8e9, 1.95e9, 1}}}, false, ""}});
  for (const results::Execution& execution : executed(monitor)) {
    EXPECT_EQ(execution.row.readings.at("sm_clock_hertz").n, 1);
    EXPECT_GT(execution.row.summary.n, 0U);
  }
}

TEST_F(Models, a_device_that_erred_is_not_believed) {
  ListedMonitor monitor({{{}, false, "an uncorrected memory error"}});
  const std::vector<results::Execution> executions = executed(monitor);
  ASSERT_EQ(executions.size(), 2U);
  EXPECT_EQ(executions[0].row.outcome.kind, results::Outcome::Kind::kCrashed);
  EXPECT_EQ(executions[0].row.attributes.at(results::kDeviceFault), "an uncorrected memory error");
  EXPECT_EQ(logged(kLook), 0);
}

TEST_F(Models, that_are_sampled_while_they_are_timed_say_so) {
  const TemporaryFolder folder;
  request_.sampled = {1000.0, folder.path()};
  variant_.steps = 3;
  ScriptedBackend backend({variant_});
  LayerTiming timing(backend.script.clock(), [] { return measure::Disturbance::Reading{}; });
  ModelBenchmark benchmark(backend, timing, request_);
  std::size_t executions = 0;
  std::size_t samples = 0;
  benchmark.run([&](const results::Execution& execution) {
    EXPECT_THAT(execution.row.attributes.at(results::kSampledRow), StartsWith("1000 Hz by "));
    samples += execution.row.samples.size();
    ++executions;
  });
  EXPECT_EQ(executions, 2U);
  const std::map<std::string, worker::Profile> taken = benchmark.take_samples();
  ASSERT_THAT(taken, UnorderedElementsAre(Key("plain"), Key("fusion")));
  std::size_t sampled = 0;
  for (const auto& [mode, profile] : taken) {
    EXPECT_EQ(profile.samples.steps.size(), 3U);
    EXPECT_EQ(profile.samples.asked_rate, 1000.0);
    EXPECT_FALSE(profile.samples.mappings.empty());
    for (const results::SampledProfile::Block& block : profile.samples.blocks) {
      EXPECT_NEAR(block.sampled.count(), 1e-3 * block.executions, 1e-4) << "each takes 1 ms";
      EXPECT_EQ(block.unsampled, Seconds(0.0));
      sampled += block.executions;
    }
    for (const results::SampledProfile::Sample& sample : profile.samples.samples) {
      EXPECT_TRUE(sample.step < 3 || sample.step == results::kNoStep);
      EXPECT_LT(sample.block, profile.samples.blocks.size());
    }
  }
  EXPECT_GE(sampled, samples) << "each sample of a row is one execution or more";
}

TEST_F(Models, are_not_sampled_unless_that_is_asked_for) {
  ScriptedBackend backend({variant_});
  LayerTiming timing(backend.script.clock(), [] { return measure::Disturbance::Reading{}; });
  ModelBenchmark benchmark(backend, timing, request_);
  benchmark.run([](const results::Execution& execution) {
    EXPECT_FALSE(execution.row.attributes.contains(results::kSampledRow));
  });
  EXPECT_TRUE(benchmark.take_samples().empty());
}

}  // namespace
}  // namespace plumb::engine
