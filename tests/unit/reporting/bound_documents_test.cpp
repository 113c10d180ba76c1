// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "harness/results/execution.hpp"
#include "reporting/content/run/documents.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string bounds_text(const analysis::RunReport& report, Detail detail) {
  std::ostringstream out;
  write_bounds(report, OutputMode::kText, out, detail);
  return out.str();
}

std::string what_ifs_text(const analysis::RunReport& report, Detail detail = Detail::kShort) {
  std::ostringstream out;
  write_what_ifs(report, OutputMode::kText, out, detail);
  return out.str();
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(BoundDocuments, are_a_sentence_and_a_table_in_short) {
  const std::string text = bounds_text(sample_report(), Detail::kShort);
  EXPECT_THAT(text,
              HasSubstr("5.000 ms now; this library's limit 3.500 ms; this machine's limit 250.0 "
                        "µs\n"));
  EXPECT_THAT(text, HasSubstr("  plain   3.500 ms   4.000 ms  5.000 ms ± 2.0 %  1.43×\n"));
  EXPECT_THAT(text, Not(HasSubstr("library_parallel")));
}

TEST(BoundDocuments, have_the_note_of_the_suite_below_the_model) {
  analysis::RunReport report = sample_report();
  report.models[0].note = "surrogate loss";
  EXPECT_THAT(bounds_text(report, Detail::kShort), HasSubstr("Note: surrogate loss\n"));
  EXPECT_THAT(bounds_text(report, Detail::kAll), HasSubstr("Note: surrogate loss\n"));
}

TEST(BoundDocuments, tell_disturbances_once_for_all_models) {
  analysis::RunReport report = sample_report();
  report.models[0].bounds.disturbances = {"1 of 9 rows used were measured on a disturbed host",
                                          "the execution end to end (plain) was disturbed"};
  report.models.push_back(report.models[0]);
  const std::string text = bounds_text(report, Detail::kShort);
  EXPECT_EQ(count_of(text, "disturbed"), 1U) << text;
  EXPECT_THAT(text, HasSubstr("2 of 2 models: disturbed or unstable"));
  const std::string all = bounds_text(report, Detail::kAll);
  EXPECT_EQ(count_of(all, "\n    1 of 9 rows used were measured on a disturbed host\n"), 2U);
}

TEST(BoundDocuments, name_every_bound_where_all_is_asked_for) {
  analysis::RunReport report = sample_report();
  report.models[0].bounds.bounds.back().kind = results::BoundKind::kLayerSum;
  report.models[0].bounds.bounds.back().lacks = {"reorders", "gaps"};
  const std::string text = bounds_text(report, Detail::kAll);
  EXPECT_THAT(text, HasSubstr("  library_parallel  fusion"));
  EXPECT_THAT(text, HasSubstr("reorders, gaps\n"));
}

TEST(BoundDocuments, show_the_memory_of_a_step_of_training) {
  analysis::RunReport report = sample_report();
  analysis::ExecutionTime& execution = report.models[0].bounds.executions[0];
  execution.memory = Bytes{2048};
  execution.readings[results::kResidentMemory].median = 4096.0;
  EXPECT_THAT(bounds_text(report, Detail::kShort), Not(HasSubstr("resident")));
  report.models[0].bounds.instance.training = "sgd";
  EXPECT_THAT(bounds_text(report, Detail::kShort),
              HasSubstr("  memory  planned  to prepare it  resident\n"
                        "  plain   2.0 KiB              –   4.0 KiB\n"));
}

TEST(BoundDocuments, show_what_executed_a_mode_and_what_the_runtime_logged) {
  analysis::RunReport report = sample_report();
  EXPECT_THAT(bounds_text(report, Detail::kAll), Not(HasSubstr("executed by")));
  report.models[0].bounds.executions[0].attributes = {
      {"providers", "CPUExecutionProvider:58"},
      {results::kSessionLog, "warning: one\nwarning: two"}};
  EXPECT_THAT(bounds_text(report, Detail::kShort), Not(HasSubstr("CPUExecutionProvider")));
  const std::string text = bounds_text(report, Detail::kAll);
  EXPECT_THAT(text, HasSubstr("  plain  providers CPUExecutionProvider:58\n"));
  EXPECT_THAT(text, HasSubstr("plain: warning: one\n"));
  EXPECT_THAT(text, HasSubstr("plain: warning: two\n"));
  EXPECT_THAT(text, Not(HasSubstr("session_log")));
  EXPECT_THAT(written(report, ".html"), HasSubstr("plain: warning: two"));
}

TEST(BoundDocuments, are_one_text_with_the_what_ifs_in_a_file) {
  const std::string text = written(sample_report(), ".txt");
  EXPECT_THAT(text, HasSubstr("\n  Every bound and estimate\n"));
  EXPECT_THAT(text, HasSubstr("\n  best_variant: pick the fastest\n"));
  EXPECT_EQ(count_of(text, "run 01JFKD2M4N5P6Q7R8S9T0VWXYZ"), 1U);
}

TEST(BoundDocuments, say_why_a_mode_has_no_time) {
  analysis::RunReport report = sample_report();
  report.models[0].bounds.executions[0].samples = 0;
  report.models[0].bounds.executions[0].outcome = {results::Outcome::Kind::kCrashed, "signal 11"};
  const std::string text = bounds_text(report, Detail::kShort);
  EXPECT_THAT(text, HasSubstr("no time end to end; this library's limit"));
  EXPECT_THAT(text, HasSubstr("crashed"));
  EXPECT_TRUE(is_clean_utf8(bounds_text(hostile_report(), Detail::kShort)));
}

/// The sample with a step that is bound by memory, and whose blocks of channels are not full.
analysis::RunReport report_with_limits() {
  analysis::RunReport report = sample_report();
  analysis::ModelLimits& limits = report.models[0].limits;
  analysis::ModelLimits::Step step;
  step.layers = {0};
  step.key = report.models[0].bounds.cover[0].key;
  step.seconds = Seconds(2e-3);
  step.limit = analysis::ModelLimits::Limit::kMemory;
  step.intensity = 12.5;
  step.bandwidth_share = 0.75;
  step.block_use = 0.8;
  step.padded_seconds = Seconds(1.5e-3);
  limits.steps = {step};
  limits.operations = Flops{2e6};
  limits.compulsory = Bytes{1024};
  return report;
}

TEST(BoundDocuments, say_what_binds_the_steps_where_all_is_asked_for) {
  const std::string text = bounds_text(report_with_limits(), Detail::kAll);
  EXPECT_THAT(text, HasSubstr("tiny, batch 1, f32  –         2.000 M         1.0 KiB  "));
  EXPECT_THAT(text,
              HasSubstr("  conv1    Conv    2.000 ms  memory        –          75 %       80 %"
                        "  1.500 ms  impl=fast"));
  EXPECT_THAT(bounds_text(report_with_limits(), Detail::kShort), Not(HasSubstr("conv1")));
}

TEST(BoundDocuments, show_models_at_several_batches_with_their_knee) {
  analysis::RunReport report = sample_report();
  for (const std::int64_t batch : {2, 4}) {
    report.models.push_back(report.models[0]);
    report.models.back().bounds.instance.batch = batch;
  }
  const std::string text = bounds_text(report, Detail::kAll);  // 5 ms at each batch
  EXPECT_THAT(text, HasSubstr("tiny f32, plain: no knee up to the largest batch\n"));
  EXPECT_THAT(text, HasSubstr("    4  5.000 ms  4.900 ms … 5.100 ms       800\n"));
  report.models[2].bounds.executions[0].median = Seconds(9.5e-3);  // 200, 400 and 421 inputs/s
  EXPECT_THAT(bounds_text(report, Detail::kAll),
              HasSubstr("tiny f32, plain: the knee is at batch 2\n"));
  EXPECT_THAT(bounds_text(report, Detail::kShort), Not(HasSubstr("the knee")));
}

TEST(BoundDocuments, show_the_memory_and_the_saving_of_captured_graphs) {
  analysis::RunReport report = sample_report();
  std::vector<analysis::ExecutionTime>& executions = report.models[0].bounds.executions;
  executions.push_back(executions[0]);
  executions.back().mode = "eager";
  executions.push_back(executions[0]);
  executions.back().mode = "captured";
  executions.back().median = Seconds(3e-3);
  executions.back().memory = Bytes{2048};
  const std::string text = bounds_text(report, Detail::kAll);
  EXPECT_THAT(text, HasSubstr("Captured graphs: one for each shape"));
  EXPECT_THAT(text, ContainsRegex("tiny +f32 +1 +2.0 KiB +2.000 ms"));
}

TEST(WhatIfDocuments, lead_from_now_to_the_bound) {
  analysis::RunReport report = sample_report();
  report.models[0].waterfall = {
      {"now", "measured end to end", {Seconds(5e-3), {}}},
      {"fusion", "layers that could be one", {Seconds(3.5e-3), {}}},
      {"hardware", "kernels below this machine's ceilings", {Seconds(0.25e-3), {}}}};
  EXPECT_THAT(what_ifs_text(report),
              HasSubstr("  5.000 ms now; 1.500 ms layers that could be one; 3.250 ms kernels below "
                        "this machine's ceilings; 250.0 µs is left (hardware)\n"));
}

TEST(WhatIfDocuments, name_accuracy_memory_settings_and_what_does_not_apply) {
  analysis::RunReport report = sample_report();
  analysis::WhatIfResult& better = report.models[0].whatifs.whatifs[0];
  better.realised_memory = Bytes{2048};
  better.prerequisites = {"patience"};
  better.not_judged = "the threads share cores";
  report.models[0].whatifs.whatifs[1].applies = false;
  const std::string all = what_ifs_text(report, Detail::kAll);
  EXPECT_THAT(all, HasSubstr("  same      2.0 KiB\n"));
  EXPECT_THAT(all, HasSubstr("    PyTorch: torch.backends.cudnn.benchmark = True\n"));
  EXPECT_THAT(all, HasSubstr("    needs patience\n"));
  EXPECT_THAT(all, HasSubstr("    not judged: the threads share cores\n"));
  EXPECT_THAT(all, HasSubstr("bf16: does not apply: no bf16 rows in this run"));
  const std::string text = what_ifs_text(report);
  EXPECT_THAT(text, HasSubstr("  same\n"));
  EXPECT_THAT(text, Not(HasSubstr("PyTorch")));
  EXPECT_THAT(text, HasSubstr("  do not apply here: bf16\n"));
}

TEST(WhatIfDocuments, show_the_times_that_their_ratios_use_and_the_command) {
  analysis::RunReport report = sample_report();
  analysis::WhatIfResult& better = report.models[0].whatifs.whatifs[0];
  better.command = "plumb run --model tiny --mode best_variant";
  better.layers.resize(5, better.layers[0]);
  const std::string text = what_ifs_text(report);
  EXPECT_THAT(text, HasSubstr("saves"));
  EXPECT_THAT(text, HasSubstr("700.0 µs  2.800 ms ± 3.6 %  4.500 ms ± 2.2 %     1.11×"));
  EXPECT_THAT(what_ifs_text(report, Detail::kAll),
              HasSubstr("3.500 ms ± 2.9 %  2.800 ms ± 3.6 %     1.25×  5.000 ms ± 2.0 %  4.500 ms "
                        "± 2.2 %     1.11×"));
  EXPECT_THAT(text, HasSubstr("    $ plumb run --model tiny --mode best_variant\n"));
  EXPECT_THAT(text, ContainsRegex("and 2 more  .* 1.400 ms  --json lists them\n"));
  EXPECT_THAT(text, HasSubstr("bf16: not predicted: no bf16 rows in this run"));
  better.layers[0].change = "impl=a;layout=any → impl=b:avx2;layout=any";
  EXPECT_THAT(what_ifs_text(report), HasSubstr("  a → b:avx2\n"));
  better.layers[0].change = "impl=b;layout=any";
  EXPECT_THAT(what_ifs_text(report), HasSubstr("  b\n"));
  EXPECT_TRUE(is_clean_utf8(what_ifs_text(hostile_report())));
}

}  // namespace
}  // namespace plumb::reporting
