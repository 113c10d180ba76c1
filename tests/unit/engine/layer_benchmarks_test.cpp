// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "runners/engine/bench/benchmark_program.hpp"
#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const model::LayerKey kRelu{
    "v1:eltwise;in=f32[4,10];out=f32[4,10];acc=f32;math=strict;fn=relu;parameters=[]"};

/// Reporter that keeps the runs.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& reports) override {
    runs.insert(runs.end(), reports.begin(), reports.end());
  }

  std::vector<Run> runs;
};

class Benchmarks : public testing::Test {
 protected:
  ~Benchmarks() override { benchmark::ClearRegisteredBenchmarks(); }

  static ScriptedVariant variant(const std::string& name, Seconds hot) {
    ScriptedVariant result{};
    result.variant.text = name;
    result.hot = hot;
    return result;
  }

  /// Runs the variants of a key that the filter leaves.
  std::vector<benchmark::BenchmarkReporter::Run> run(std::vector<ScriptedVariant> variants,
                                                     const std::string& filter = "all",
                                                     const model::LayerKey& key = kRelu) {
    backend_.emplace(std::move(variants));
    backend_->supported = supported_;
    LayerBenchmarks benchmarks(*backend_, backend_->script.clock());
    benchmarks.add(key);
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector, nullptr, filter);
    benchmark::ClearRegisteredBenchmarks();
    return collector.runs;
  }

  results::Outcome supported_;
  std::optional<ScriptedBackend> backend_;
};

TEST_F(Benchmarks, each_variant_is_one_and_the_filter_chooses) {
  auto slow = variant("impl=ref", Seconds(1.0));
  slow.variant.reference_implementation = true;
  auto chosen = variant("impl=a", Seconds(1e-3));
  chosen.variant.library_choice = true;
  const std::vector<ScriptedVariant> variants{slow, chosen, variant("impl=b", Seconds(2e-3))};
  const auto all = run(variants);
  ASSERT_EQ(all.size(), 2U) << "the reference is left out";
  EXPECT_EQ(all[0].benchmark_name(), kRelu.text + "/impl=a/manual_time");
  EXPECT_EQ(all[0].report_label, "library's choice");
  EXPECT_EQ(all[1].report_label, "");

  const auto some = run(variants, "impl=b");
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(std::count(backend_->script.log.begin(), backend_->script.log.end(), "prepare impl=a"),
            0)
      << "what is left out is not prepared";
}

TEST_F(Benchmarks, a_reference_is_one_where_there_is_nothing_else) {
  auto slow = variant("impl=ref", Seconds(1e-3));
  slow.variant.reference_implementation = true;
  EXPECT_EQ(run({slow}).size(), 1U);
}

TEST_F(Benchmarks, the_time_is_that_of_one_execution_however_many_a_sample_has) {
  const auto long_ones = run({variant("impl=a", Seconds(1e-3))});
  EXPECT_NEAR(long_ones.at(0).GetAdjustedRealTime(), 1000.0, 1.0) << "microseconds";
  EXPECT_GE(long_ones.at(0).iterations, 500) << "the library repeats for half a second";

  const auto short_ones = run({variant("impl=a", Seconds(1e-6))});
  EXPECT_NEAR(short_ones.at(0).GetAdjustedRealTime(), 1.0, 0.01) << "no share of the clock";
  const std::vector<std::size_t>& executions = backend_->script.enqueued.at("impl=a");
  EXPECT_GE(executions.size(), static_cast<std::size_t>(short_ones.at(0).iterations));
}

TEST_F(Benchmarks, bytes_and_products_become_rates) {
  const auto runs = run({variant("impl=a", Seconds(1e-3))});
  EXPECT_NEAR(runs.at(0).counters.at("bytes_per_second").value, 320.0 / 1e-3, 1e3);
  EXPECT_FALSE(runs.at(0).counters.contains("macs_per_second")) << "a relu has none";
}

TEST_F(Benchmarks, a_wrong_result_is_an_error_and_not_timed) {
  auto wrong = variant("impl=a", Seconds(1e-3));
  wrong.wrong = true;
  const auto runs = run({wrong, variant("impl=b", Seconds(1e-3))});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_TRUE(runs[0].error_occurred);
  EXPECT_THAT(runs[0].error_message, HasSubstr("wrong_result"));
  EXPECT_THAT(backend_->script.enqueued.at("impl=a"), ElementsAre(0)) << "only to be verified";
  EXPECT_FALSE(runs[1].error_occurred) << "the others go on";
}

TEST_F(Benchmarks, what_throws_and_what_is_refused_are_errors) {
  auto broken = variant("impl=a", Seconds(1e-3));
  broken.throws = "broken";
  auto refused = variant("impl=b", Seconds(1e-3));
  refused.prepare = {results::Outcome::Kind::kUnsupported, "not here"};
  const auto runs = run({broken, refused});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_THAT(runs[0].error_message, HasSubstr("broken"));
  EXPECT_EQ(runs[1].error_message, "unsupported: not here");
}

TEST_F(Benchmarks, an_unsupported_key_is_one_that_gives_the_reason) {
  supported_ = {results::Outcome::Kind::kUnsupported, "this CPU lacks the type"};
  const auto runs = run({variant("impl=a", Seconds(1e-3))});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].benchmark_name(), kRelu.text);
  EXPECT_EQ(runs[0].error_message, "this CPU lacks the type");
  EXPECT_THROW(run({}, "all", {"v1:nothing"}), Error);
}

TEST_F(Benchmarks, one_program_is_kept_at_a_time) {
  run({variant("impl=a", Seconds(1e-3)), variant("impl=b", Seconds(1e-3))});
  const std::vector<std::string>& log = backend_->script.log;
  const auto dropped = std::find(log.begin(), log.end(), "drop impl=a");
  const auto prepared = std::find(log.begin(), log.end(), "prepare impl=b");
  EXPECT_LT(dropped, prepared);
  EXPECT_NE(prepared, log.end());
  EXPECT_EQ(std::count(log.begin(), log.end(), "prepare impl=a"), 1)
      << "once, however often it is repeated";
}

}  // namespace
}  // namespace plumb::engine
