// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/onednn/sample_model.hpp"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>

#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/model/onnx/weights.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "runners/onednn/onednn_backend.hpp"

namespace plumb::onednn {
namespace {

/// Computes the outputs layer by layer with the float64 reference.
std::vector<model::Tensor> expected(const Sample& sample) {
  onnx::ModelProto model = sample.model();
  model::fill_weights(model, worker::ExecuteRequest{}.seed);
  model::LoadedModel loaded = model::load_model(model);
  const model::Graph& graph = loaded.graph;
  std::map<model::ValueId, model::Tensor>& values = loaded.constants;
  engine::fold_constants(graph, values);
  const std::vector<model::Tensor> inputs =
      engine::model_inputs(graph, worker::ExecuteRequest{}.seed);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs[i]] = inputs[i];
  }
  std::vector<model::Tensor> outputs;
  EXPECT_TRUE(engine::reference_model_outputs(graph, values, outputs).ok());
  return outputs;
}

}  // namespace

engine::ReadyModel executed(const Sample& sample, const worker::ModeRequest& mode) {
  const auto backend = make_onednn_backend();
  engine::RequestedModel model(sample.request());
  engine::ReadyModel ready = engine::prepare_mode(*backend, model, mode);
  if (ready.outcome.ok()) {
    model.fill();
    engine::make_ready(model, measure::steady_clock(), ready);
  }
  return ready;
}

engine::ReadyModel expect_right(const Sample& sample, const worker::ModeRequest& mode) {
  engine::ReadyModel ready = executed(sample, mode);
  EXPECT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  const std::vector<model::Tensor> wanted = expected(sample);
  EXPECT_EQ(ready.outputs.size(), wanted.size());
  for (std::size_t index = 0; index < std::min(wanted.size(), ready.outputs.size()); ++index) {
    EXPECT_EQ(ready.outputs[index].type.dims, wanted[index].type.dims);
    const auto count = static_cast<std::size_t>(element_count(wanted[index].type));
    for (std::size_t i = 0; i < count; ++i) {
      const float want = wanted[index].as<float>()[i];
      const float got = ready.outputs[index].as<float>()[i];
      if (!(std::abs(want - got) <= 1e-5F * (1.0F + std::abs(want)))) {
        ADD_FAILURE() << to_text(mode.mode) << ": output " << index << ", element " << i << ": "
                      << got << ", not " << want;
        break;
      }
    }
  }
  return ready;
}

std::size_t expect_right(const Sample& sample) {
  static_cast<void>(expect_right(sample, {{.fusion = true}, {}}));
  return expect_right(sample, {}).prepared.reorders;
}

}  // namespace plumb::onednn
