// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/reference_comparison.hpp"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <fstream>

#include "harness/measure/sampler.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::engine {
namespace {

TEST(ReferenceComparison, computes_the_reference_of_equal_graphs_once) {
  const TemporaryFolder folder;
  worker::ExecuteRequest request;
  request.path = folder.path() / "lenet.onnx";
  request.dtype = "f32";
  request.training = "sgd";
  std::ofstream file(request.path, std::ios::binary);
  zoo::find("lenet")->build(2).SerializeToOstream(&file);
  file.close();
  RequestedModel model(request);
  const auto backend = onednn::make_onednn_backend();
  std::vector<ReadyModel> modes;
  for (const char* const mode : {"plain", "channels_last", "fusion"}) {
    modes.push_back(prepare_mode(*backend, model, {results::execution_mode_from(mode), {}, {}}));
  }
  model.fill();
  // Enough for one graph of the two: fusion joins the updates.
  ReferenceComparison reference(model::totals(model.graph()).macs);
  std::vector<int> layers;
  std::vector<bool> computed;
  std::vector<bool> compared;
  for (ReadyModel& mode : modes) {
    make_ready(model, measure::steady_clock(), mode);
    ASSERT_TRUE(mode.outcome.ok()) << mode.outcome.reason;
    layers.push_back(0);
    computed.push_back(reference.will_compute(mode.plan.fused.graph));
    const auto deviation = reference.compare(model, mode, [&] { ++layers.back(); });
    compared.push_back(deviation.has_value());
    if (deviation) {
      EXPECT_LT(deviation->error, 1e-5);
    }
  }
  EXPECT_GT(layers[0], 30);
  EXPECT_EQ(layers[1], 0);
  EXPECT_EQ(computed, (std::vector{true, false, false}));
  EXPECT_EQ(compared, (std::vector{true, true, false}));
  // What differs in one element is computed for itself.
  request.seed = 2;
  RequestedModel other(request);
  other.fill();
  EXPECT_FALSE(reference.compare(other, modes[0]).has_value());
  EXPECT_TRUE(reference.compare(model, modes[0]).has_value());
  reference.clear();
  EXPECT_FALSE(reference.compare(model, modes[0]).has_value()) << "it is kept no longer";
}

}  // namespace
}  // namespace plumb::engine
