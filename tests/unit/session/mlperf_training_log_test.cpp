// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "harness/session/mlperf/mlperf_submission.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

std::map<std::string, Json> lines_of(const std::string& log) {
  std::map<std::string, Json> lines;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);) {
    EXPECT_TRUE(line.starts_with(":::MLLOG {")) << line;
    const Json json = Json::parse(line.substr(9));
    EXPECT_TRUE(lines.emplace(json.at("key"), json).second) << line;
  }
  return lines;
}

results::Execution four_steps() {
  results::Execution execution;
  execution.mode = "plain";
  execution.row.samples.assign(4, Seconds(0.5));
  execution.row.summary.median = Seconds(0.5);
  execution.row.started = Timestamp(std::chrono::seconds(1'700'000'000));
  execution.row.wall = Seconds(7.0);
  return execution;
}

TEST(MlperfTrainingLog, says_how_many_samples_were_trained_and_how_long) {
  const auto lines = lines_of(mlperf_training_log(
      {.model = "resnet50-v1", .batch = 8, .training = "sgd"}, four_steps(), {}));
  EXPECT_EQ(lines.at("submission_benchmark").at("value"), "resnet");
  EXPECT_EQ(lines.at("train_samples").at("value"), 32);
  EXPECT_EQ(lines.at("global_batch_size").at("value"), 8);
  EXPECT_EQ(lines.at("init_start").at("time_ms"), 1'700'000'000'000);
  EXPECT_EQ(lines.at("run_start").at("time_ms"), 1'700'000'005'000);
  EXPECT_EQ(lines.at("run_stop").at("time_ms"), 1'700'000'007'000);
  EXPECT_EQ(lines.at("block_stop").at("metadata").at("samples_count"), 32);
  EXPECT_DOUBLE_EQ(lines.at("tracked_stats").at("value").at("throughput"), 16.0);
}

TEST(MlperfTrainingLog, names_the_source_and_the_line_of_each_call) {
  std::istringstream in(
      mlperf_training_log({.model = "lenet", .training = "sgd"}, four_steps(), {}));
  int before = 0;
  for (std::string line; std::getline(in, line);) {
    const Json metadata = Json::parse(line.substr(9)).at("metadata");
    EXPECT_EQ(metadata.at("file").get<std::string>(), "mlperf_logs.cpp");
    const int number = metadata.at("lineno").get<int>();
    EXPECT_GT(number, before) << "the calls stand in this order: " << line;
    before = number;
  }
  EXPECT_GT(before, 100) << "of the source, not of the log";
}

TEST(MlperfTrainingLog, claims_no_result) {
  const auto lines =
      lines_of(mlperf_training_log({.model = "mine\"\xff", .training = "sgd"}, four_steps(), {}));
  EXPECT_EQ(lines.at("run_stop").at("metadata").at("status"), "aborted");
  EXPECT_EQ(lines.at("eval_samples").at("value"), 0);
  EXPECT_FALSE(lines.contains("eval_accuracy"));
  EXPECT_EQ(lines.at("submission_platform").at("value"), "not recorded");
}

TEST(MlperfTrainingLog, names_the_benchmark_of_each_built_in_model_as_the_checker_does) {
  const std::map<std::string, std::string> names{{"resnet50-v1.5", "resnet"},
                                                 {"bert-large", "bert"},
                                                 {"retinanet-resnext50", "ssd"},
                                                 {"3d-unet", "unet3d"},
                                                 {"dlrm-dcnv2", "dlrm_dcnv2"}};
  for (const auto& [model, name] : names) {
    EXPECT_NE(zoo::find(model), nullptr) << model;
    EXPECT_EQ(mlperf_training_benchmark(model), name);
  }
  EXPECT_EQ(mlperf_training_benchmark("lenet"), "lenet") << "no benchmark";
}

TEST(MlperfTrainingLog, lies_beside_the_logs_of_scenarios) {
  const analysis::ModelInstance lenet{.model = "lenet", .batch = 4, .training = "sgd"};
  EXPECT_EQ(mlperf_training_file("logs", lenet, "fusion"),
            "logs/lenet_4_f32_training_sgd/fusion/training/result_0.txt");
  EXPECT_EQ(mlperf_training_file("logs", lenet, "plain"),
            "logs/lenet_4_f32_training_sgd/training/result_0.txt");
}

}  // namespace
}  // namespace plumb::session
