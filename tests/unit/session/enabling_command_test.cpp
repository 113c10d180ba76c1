// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/enabling_command.hpp"

#include <gtest/gtest.h>

#include "harness/results/labels/variant_id.hpp"

namespace plumb::session {
namespace {

TEST(EnablingCommand, names_the_suite_the_stack_and_the_threads_of_the_run) {
  results::RunHeader run;
  run.command = {"plumb", "run", "suites/my own.toml"};
  run.stack = "new";
  run.environment.identity["threads"] = "4";
  EXPECT_EQ(enabling_command(run, {"lenet", 2, "f32"}, "fusion"),
            "plumb run 'suites/my own.toml' --model lenet --stack new --threads 4 --mode fusion");
}

TEST(EnablingCommand, names_the_file_and_the_batch_of_a_model_without_a_suite) {
  results::RunHeader run;
  run.command = {"plumb", "run", ""};
  run.stack = "default";
  run.environment.identity["threads"] = "1";
  run.resolved_suite = R"({"graphs":[{"model":"mine","path":"/m/it's.onnx"}]})";
  EXPECT_EQ(enabling_command(run, {"mine", 8, "f32"}, "parallel_branches"),
            "plumb run --model 'it'\\''s.onnx' --batch 8 --threads 2 --mode parallel_branches");
  EXPECT_EQ(enabling_command(run, {"lenet", 1, "f32"}, "bf16"),
            "plumb run --model lenet --mode bf16");
}

TEST(EnablingCommand, names_the_type_and_the_axes_of_a_model_without_a_suite) {
  results::RunHeader run;
  run.command = {"plumb", "run", ""};
  run.stack = "default";
  run.resolved_suite =
      R"({"graphs":[{"model":"mine","path":"/m/mine.onnx"}],"models":[{"name":"mine","rebatch":true}]})";
  EXPECT_EQ(
      enabling_command(run, {"mine", 1, "bf16", {{"input ids.1", 8}, {"sequence", 384}}}, "fusion"),
      "plumb run --model mine.onnx --rebatch 1 --dtype bf16 --dim 'input ids.1=8' --dim "
      "sequence=384 --mode fusion");
}

TEST(EnablingCommand, names_the_optimiser_of_a_step_of_training) {
  results::RunHeader run;
  run.command = {"plumb", "run", ""};
  run.stack = "default";
  EXPECT_EQ(enabling_command(run, {.model = "lenet", .batch = 8, .training = "sgd"}, "fusion"),
            "plumb run --model lenet --batch 8 --training sgd --mode fusion");
}

TEST(EnablingCommand, names_the_rule_by_which_batches_are_divided) {
  results::RunHeader run;
  run.command = {"plumb", "run", ""};
  run.stack = "default";
  results::add_division_rule({{8 << 20}, results::VariantId::DivisionRule::Policy::kPowersOfTwo},
                             run.environment);
  EXPECT_EQ(enabling_command(run, {"lenet", 8, "f32"}, "micro_batch"),
            "plumb run --model lenet --batch 8 --workspace-cap 8MiB --mode micro_batch");
  results::add_division_rule({{1000}, results::VariantId::DivisionRule::Policy::kAll},
                             run.environment);
  EXPECT_EQ(enabling_command(run, {"lenet", 8, "f32"}, "micro_batch"),
            "plumb run --model lenet --batch 8 --workspace-cap 1000 --micro-batch-policy all "
            "--mode micro_batch");
  EXPECT_EQ(enabling_command(run, {"lenet", 8, "f32"}, "fusion"),
            "plumb run --model lenet --batch 8 --mode fusion");
}

TEST(EnablingCommand, names_the_code_that_a_model_was_exported_from) {
  results::RunHeader run;
  run.command = {"plumb", "run", ""};
  run.stack = "pytorch-2.15";
  run.resolved_suite =
      R"({"graphs":[{"model":"mine.py:build","path":"/data/exported/1f/build.onnx"}],)"
      R"("models":[{"name":"mine.py:build","code":{"function":"build","sha256":"00"}}]})";
  EXPECT_EQ(enabling_command(run, {"mine.py:build", 8, "f32"}, "fusion"),
            "plumb run --model mine.py:build --stack pytorch-2.15 --mode fusion");
}

TEST(EnablingCommand, names_the_gpu_unless_it_is_the_first) {
  results::RunHeader run;
  run.command = {"plumb", "run", "quick.toml"};
  run.stack = "gpu";
  run.environment.identity["gpu.uuid"] = "GPU-5b0c";
  run.environment.facts["gpu.index"] = "0";
  EXPECT_EQ(device_of(run), "");
  run.environment.facts["gpu.index"] = "1";
  EXPECT_EQ(device_of(run), "GPU-5b0c");
  EXPECT_EQ(enabling_command(run, {"lenet", 1, "f32"}, "plain"),
            "plumb run quick.toml --model lenet --stack gpu --device GPU-5b0c --mode plain");
  EXPECT_EQ(repeating_command(run, "layers/v1:relu"),
            "plumb layer 'v1:relu' --stack gpu --device GPU-5b0c");
}

TEST(RepeatingCommand, measures_a_layer_or_a_model_with_the_stack_of_the_run) {
  results::RunHeader run;
  run.command = {"plumb", "run", "tiny.toml"};
  run.stack = "new";
  run.environment.identity["threads"] = "2";
  EXPECT_EQ(repeating_command(run, "layers/v1:relu;in=f32[8]"),
            "plumb layer 'v1:relu;in=f32[8]' --stack new --threads 2");
  EXPECT_EQ(repeating_command(run, "models/lenet|1|f32/end_to_end/fusion/single_stream"),
            "plumb run tiny.toml --model lenet --stack new --threads 2 --mode fusion");
  EXPECT_EQ(repeating_command(run, "models/lenet|1|f32/library/fusion"),
            "plumb run tiny.toml --model lenet --stack new --threads 2 --mode fusion");
  EXPECT_EQ(repeating_command(run, "models/lenet|1|f32/hardware/any"),
            "plumb run tiny.toml --model lenet --stack new --threads 2 --mode plain");
  for (const char* const series :
       {"", "geometric_mean", "layers/external:mine:x", "models/", "models/x", "models/x/y/z"}) {
    EXPECT_EQ(repeating_command(run, series), "") << series;
  }
}

TEST(ProfilingCommand, profiles_two_stacks_and_repeats_a_run_of_one_stack) {
  results::RunHeader baseline;
  baseline.stack = "old";
  results::RunHeader candidate;
  candidate.command = {"plumb", "run", "", "--model", "/m/mine.onnx", "--batch", "8"};
  candidate.stack = "new one";
  candidate.environment.identity["threads"] = "2";
  baseline.id = "01A";
  candidate.id = "01B";
  const std::vector<std::string> varied{"stack", "os kernel"};
  EXPECT_EQ(profiling_command(baseline, candidate, varied),
            "plumb compare 01A 01B --vary stack --vary 'os kernel' --profile");
  baseline.stack = "new one";
  EXPECT_EQ(profiling_command(baseline, candidate, varied),
            "plumb run --model mine.onnx --batch 8 --stack 'new one' --threads 2 "
            "--profile-budget 30s");
  candidate.command = {"plumb", "qualify", "suite.toml"};
  EXPECT_EQ(profiling_command(baseline, candidate, varied), "");
}

}  // namespace
}  // namespace plumb::session
