// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/session/mlperf/mlperf_submission.hpp"

namespace plumb::session {
namespace {

using testing::HasSubstr;

/// Makes a graph of one input and one output, in f32.
model::Graph graph_of(std::vector<std::int64_t> input, std::vector<std::int64_t> output) {
  model::Graph graph;
  graph.values.push_back({"x", {model::DataType::kF32, std::move(input)}, {}, {}});
  graph.values.push_back({"y", {model::DataType::kF32, std::move(output)}, {}, {}});
  graph.inputs = {0};
  graph.outputs = {1};
  return graph;
}

const model::Graph kClassifier = graph_of({1, 3, 224, 224}, {1, 1000, 1, 1});

TEST(MlperfBenchmark, is_known_by_name_or_shapes) {
  EXPECT_EQ(find_mlperf_benchmark("bert-large", graph_of({1, 384}, {1, 384}))->name, "bert-99");
  EXPECT_EQ(find_mlperf_benchmark("squeezenet1.1", kClassifier)->name, "resnet");
  EXPECT_FALSE(find_mlperf_benchmark("lenet", graph_of({1, 1, 28, 28}, {1, 10})));
  EXPECT_FALSE(find_mlperf_benchmark("arcface", graph_of({1, 3, 112, 112}, {1, 512})));
}

TEST(MlperfBenchmark, sets_the_size_of_the_data_set) {
  EXPECT_EQ(data_set_size("squeezenet1.1", kClassifier, {}).samples, 1024U);
  EXPECT_EQ(data_set_size("bert-large", graph_of({1, 384}, {1, 384}), {}).samples, 10'833U);
  EXPECT_EQ(data_set_size("retinanet-resnext50", graph_of({1, 3, 800, 800}, {1}), {}).samples, 64U);
  EXPECT_EQ(data_set_size("lenet", graph_of({1, 1, 28, 28}, {1, 10}), {}).samples, 1024U);
  EXPECT_EQ(data_set_size("lenet", graph_of({1, 1, 28, 28}, {1, 10}), {}).shortage, "");
}

TEST(MlperfBenchmark, keeps_the_data_set_within_1_gib) {
  const model::Graph large = graph_of({16, 3, 224, 224}, {16, 1000});
  const MlperfSubmission::DataSetSize size = data_set_size("resnet50-v1", large, {});
  EXPECT_EQ(size.samples, 111U);  // of 9.6 MB
  EXPECT_THAT(size.shortage, HasSubstr("has 111 samples"));
  EXPECT_THAT(size.shortage, HasSubstr("requires at least 1024 for resnet"));
  EXPECT_THAT(size.shortage, HasSubstr("--performance-sample-count 1024 takes 9.19 GiB"));
  EXPECT_EQ(data_set_size("huge", graph_of({1, 1 << 29}, {1}), {}).samples, 1U);
}

TEST(MlperfBenchmark, takes_the_number_asked_for) {
  const model::Graph large = graph_of({16, 3, 224, 224}, {16, 1000});
  const MlperfSubmission::DataSetSize enough = data_set_size("resnet50-v1", large, 1024);
  EXPECT_EQ(enough.samples, 1024U) << "whatever its memory";
  EXPECT_EQ(enough.shortage, "");
  EXPECT_THAT(data_set_size("resnet50-v1", large, 9).shortage,
              HasSubstr("ask for more with --performance-sample-count"));
}

}  // namespace
}  // namespace plumb::session
