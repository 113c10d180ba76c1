// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/run_series.hpp"

#include <gmock/gmock.h>

#include "harness/analysis/report/reports.hpp"

namespace plumb::analysis {
namespace {

using ::testing::IsEmpty;

const results::Environment kMachine{{{"backend", "onednn"},
                                     {"cpu.model", "Xeon"},
                                     {"library", "onednn-3.2"},
                                     {"library.isa", "AVX2"},
                                     {"method", "2"},
                                     {"threads", "1"}},
                                    {{"kernel", "6.1"},
                                     {"load", "0.1"},
                                     {"library.version", "3.2"},
                                     {"plumb.commit", "abc"},
                                     {"frequency.mhz_now", "2400"}}};

results::Environment with(const std::string& name, const std::string& value) {
  results::Environment other = kMachine;
  (other.identity.contains(name) ? other.identity : other.facts)[name] = value;
  return other;
}

TEST(RunSeries, the_system_is_the_machine_alone) {
  const std::string system = system_id(kMachine);
  EXPECT_EQ(system.size(), 16U);
  for (const char* const name : {"library", "library.isa", "threads", "method", "backend"}) {
    EXPECT_EQ(system_id(with(name, "other")), system) << name;
  }
  EXPECT_NE(system_id(with("cpu.model", "EPYC")), system);
}

TEST(RunSeries, a_stack_s_variables_are_not_the_machine) {
  results::Environment limited = with("library.isa", "SSE41");
  limited.identity["ONEDNN_MAX_CPU_ISA"] = "SSE41";
  EXPECT_EQ(system_id(limited), system_id(kMachine));
  EXPECT_TRUE(are_comparable(kMachine, limited));
  EXPECT_THAT(environment_drift(kMachine, limited), IsEmpty());
  // What this machine was called before stacks had variables of their own.
  EXPECT_EQ(system_id(kMachine), "45736846d79a0e7d");
}

TEST(RunSeries, an_upgrade_stays_comparable_and_another_method_does_not) {
  EXPECT_TRUE(are_comparable(kMachine, with("library", "onednn-3.3")));
  EXPECT_TRUE(are_comparable(kMachine, with("kernel", "6.2")));
  EXPECT_FALSE(are_comparable(kMachine, with("method", "3")));
  EXPECT_FALSE(are_comparable(kMachine, with("threads", "2")));
}

TEST(RunSeries, equal_gpus_are_one_series_and_a_change_between_them_is_drift) {
  results::Environment first = kMachine;
  first.identity["gpu"] = "A GPU";
  first.identity["gpu.uuid"] = "GPU-1";
  first.facts["gpu.index"] = "0";
  results::Environment second = first;
  second.identity["gpu.uuid"] = "GPU-2";
  second.facts["gpu.index"] = "1";
  EXPECT_NE(first.id(), second.id()) << "rows of one are not reused for the other";
  EXPECT_EQ(system_id(first), system_id(second));
  EXPECT_TRUE(are_comparable(first, second));
  const auto drift = environment_drift(first, second);
  ASSERT_EQ(drift.size(), 1U);
  EXPECT_EQ(drift[0].name, "gpu.uuid");
  second.identity["gpu"] = "another model";
  EXPECT_FALSE(are_comparable(first, second));
  EXPECT_NE(system_id(first), system_id(second));
}

TEST(RunSeries, drift_is_neither_the_stack_nor_what_varies_anyway) {
  for (const char* const name : {"load", "library.version", "plumb.commit", "frequency.mhz_now"}) {
    EXPECT_THAT(environment_drift(kMachine, with(name, "other")), IsEmpty()) << name;
  }
  const auto drift = environment_drift(kMachine, with("kernel", "6.2"));
  ASSERT_EQ(drift.size(), 1U);
  EXPECT_EQ(drift[0].name, "kernel");
  // "loader" only begins like "load".
  EXPECT_EQ(environment_drift(kMachine, with("loader", "gold")).size(), 1U);
}

TEST(RunSeries, a_run_names_its_series) {
  results::RunHeader header;
  header.suite = "quick";
  header.backend = "onednn";
  header.stack = "default";
  header.environment = kMachine;
  const RunSeries series = run_series_of(header);
  EXPECT_EQ(series.threads, "1");
  EXPECT_EQ(series, run_series_of(header));
  header.stack = "next";
  EXPECT_NE(series, run_series_of(header));
}

TEST(RunKind, is_by_stack_mark_and_command) {
  results::RunHeader header;
  EXPECT_EQ(to_text(run_kind(header)), "run");
  EXPECT_TRUE(is_point_of_history(header));

  results::RunHeader sampled = header;
  results::add_mark(results::kSampledMark, sampled.environment);
  EXPECT_EQ(run_kind(sampled), RunReport::Kind::kSampled);
  EXPECT_FALSE(is_point_of_history(sampled));

  results::RunHeader paired = header;
  results::add_mark(results::kPairedMark, paired.environment);
  EXPECT_EQ(to_text(run_kind(paired)), "pairs");
  paired.command = {"plumb", "bisect"};
  EXPECT_EQ(to_text(run_kind(paired)), "bisection");
  EXPECT_EQ(why_no_history(paired), "is one side of a comparison in pairs (bisection)");

  header.stack = results::kExternalStack;
  EXPECT_EQ(to_text(run_kind(header)), "import");
  EXPECT_TRUE(is_point_of_history(header));
}

}  // namespace
}  // namespace plumb::analysis
