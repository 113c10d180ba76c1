// SPDX-License-Identifier: Apache-2.0
// Steps of training, executed by oneDNN in f32: against PyTorch's optimisers, and that they learn.
#include "harness/rewrite/gradient/training_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/engine/exec/mode_graph.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/onednn/executed_steps.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"
#include "tests/unit/rewrite/training_example.hpp"

namespace plumb::rewrite {

void PrintTo(rewrite::TrainingStep::Optimizer::Kind kind, std::ostream* out) {
  *out << to_text(kind);
}

}  // namespace plumb::rewrite

namespace plumb::onednn {
namespace {

using rewrite::TrainingStep;

rewrite::TrainingStep::Optimizer optimizer_of(const std::string& name) {
  if (name == "sgd") {
    return {.rate = 0.01, .momentum = 0.0};
  }
  if (name == "sgd_momentum") {
    return {.rate = 0.01, .momentum = 0.9, .decay = 1e-3};
  }
  const bool of_weights = name == "adamw";
  return {.kind = of_weights ? rewrite::TrainingStep::Optimizer::Kind::kAdamw
                             : rewrite::TrainingStep::Optimizer::Kind::kAdam,
          .rate = 0.01,
          .decay = of_weights ? 0.1 : 1e-3};
}

Values values_of(const rewrite::Example& example, const TrainingStep& step) {
  Values values;
  for (const auto& [id, numbers] : rewrite::numbers_of_example(example, step.training)) {
    values[id] = engine::tensor_from(step.training.graph.values[id].type, numbers);
  }
  for (const model::ValueId state : step.states) {
    std::fill(values.at(state).data.begin(), values.at(state).data.end(), std::byte{0});
  }
  engine::fold_constants(step.training.graph, values);
  return values;
}

TEST(TrainingSteps, ten_of_them_agree_with_pytorch) {
  std::ifstream file(PLUMB_TRAINING_REFERENCES);
  const nlohmann::json references = nlohmann::json::parse(file);
  EXPECT_EQ(references.size(), 10U);
  for (const auto& [name, reference] : references.items()) {
    const std::string graph = name.substr(0, name.find('/'));
    const auto example = std::find_if(
        rewrite::examples().begin(), rewrite::examples().end(), [&](const rewrite::Example& each) {
          return each.name == graph;
        });
    ASSERT_NE(example, rewrite::examples().end()) << name;
    const TrainingStep step =
        rewrite::training_step(example->build(),
                               {.loss = example->loss, .running_statistics = true},
                               optimizer_of(name.substr(name.find('/') + 1)));
    Steps steps(step, values_of(*example, step));
    const auto losses = reference.at("losses").get<std::vector<double>>();
    ASSERT_EQ(losses.size(), 10U);
    for (const double loss : losses) {
      EXPECT_NEAR(steps.next(), loss, 1e-5 * std::max(1.0, std::fabs(loss))) << name;
    }
    for (const auto& [weight, numbers] : steps.weights()) {
      const auto expected = reference.at("weights").at(weight).get<std::vector<double>>();
      EXPECT_LE(distance(numbers, expected), 1e-4) << name << " " << weight;
    }
    const auto running = reference.value("running", std::vector<std::vector<double>>{});
    const std::vector<std::vector<double>> found = steps.running_statistics();
    ASSERT_EQ(found.size(), running.size()) << name;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LE(distance(found[i], running[i]), 1e-4) << name << " statistic " << i;
    }
  }
}

class ToyProblem : public ::testing::TestWithParam<rewrite::TrainingStep::Optimizer::Kind> {};
INSTANTIATE_TEST_SUITE_P(Optimizers,
                         ToyProblem,
                         ::testing::Values(rewrite::TrainingStep::Optimizer::Kind::kSgd,
                                           rewrite::TrainingStep::Optimizer::Kind::kAdam,
                                           rewrite::TrainingStep::Optimizer::Kind::kAdamw,
                                           rewrite::TrainingStep::Optimizer::Kind::kLamb),
                         [](const auto& each) { return std::string(to_text(each.param)); });

TEST_P(ToyProblem, is_learnt) {
  const TrainingStep step = rewrite::training_step(toy(), {}, {.kind = GetParam(), .rate = 0.02});
  Steps steps(step, toy_values(step));
  const double first = steps.next();
  double last = first;
  for (int i = 0; i < 60; ++i) {
    last = steps.next();
  }
  EXPECT_GT(first, 0.9);  // of four classes it knows nothing
  EXPECT_LT(last, 0.1 * first);
}

/// Network without statistics of a batch, and the gradient of a convolution of each channel.
model::Graph grouped(std::int64_t batch) {
  rewrite::GraphSketch sketch;
  const auto x = sketch.relu(sketch.conv(sketch.input({batch, 2, 6, 6}), 16, 3));
  const auto each = sketch.layer("conv",
                                 {x, sketch.weight({16, 1, 3, 3})},
                                 {batch, 16, 6, 6},
                                 {{"dilations", std::vector<std::int64_t>{1, 1}},
                                  {"group", std::int64_t{16}},
                                  {"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                                  {"strides", std::vector<std::int64_t>{1, 1}}});
  const auto flat = sketch.view(sketch.relu(each), {batch, 16 * 6 * 6});
  return sketch.build({sketch.gemm(flat, 4)});
}

/// Returns the part of a batch that is a micro-batch.
model::Tensor part_of(const model::Tensor& whole, const model::TensorType& type, std::size_t part) {
  model::Tensor tensor{type, {}};
  const auto bytes = static_cast<std::ptrdiff_t>(model::byte_size(type).value);
  const auto begin = whole.data.begin() + static_cast<std::ptrdiff_t>(part) * bytes;
  tensor.data.assign(begin, begin + bytes);
  return tensor;
}

TEST(TrainingSteps, of_micro_batches_are_those_of_the_whole_batch) {
  constexpr std::size_t kParts = 4;
  const rewrite::TrainingStep::Choice whole{
      rewrite::standard_optimizer(rewrite::TrainingStep::Optimizer::Kind::kAdamw), 1};
  const rewrite::TrainingStep::Choice parts{whole.optimizer, kParts};
  const TrainingStep large = rewrite::training_step(grouped(16), whole);
  const TrainingStep small = rewrite::training_step(grouped(16 / kParts), parts);
  const Values values = toy_values(large);
  std::map<std::string, model::Tensor> by_name;
  const auto& from = large.training.graph;
  for (const auto& [id, tensor] : values) {
    by_name[from.values[id].name] = tensor;
  }
  const auto& to = small.training.graph;
  Values divided;
  std::map<model::ValueId, std::size_t> next;
  const auto divide = [&](model::ValueId id, model::ValueId first) {
    divided[id] = part_of(by_name.at(to.values[first].name), to.values[id].type, next[first]++);
  };
  for (const model::ValueId first : {to.inputs.front(), small.training.target}) {
    divide(first, first);
  }
  for (const rewrite::TrainingGraph::RepeatedInput& each : small.training.repeated) {
    divide(each.input, each.first);
  }
  for (model::ValueId id = 0; id < to.values.size(); ++id) {
    if (!to.values[id].producer && !divided.contains(id)) {
      divided[id] = by_name.at(to.values[id].name);
    }
  }
  Steps at_once(large, values);
  Steps one_by_one(small, divided);
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(one_by_one.next(), at_once.next(), 1e-5);
  }
  const auto expected = at_once.weights();
  for (const auto& [weight, numbers] : one_by_one.weights()) {
    EXPECT_LE(distance(numbers, expected.at(weight)), 1e-5) << weight;
  }
}

TEST(TrainingSteps, compute_the_same_where_layers_are_fused) {
  rewrite::GraphSketch sketch;
  const auto x = sketch.conv(sketch.input({16, 2, 6, 6}), 8, 3, true);
  const auto flat = sketch.view(sketch.relu(sketch.batch_norm(x)), {16, 4, 2 * 6 * 6});
  const auto hidden = sketch.add(sketch.matmul(flat, 12), sketch.weight({12}));
  const auto rows = sketch.view(sketch.relu(hidden), {16, 4 * 12});
  const TrainingStep plain = rewrite::training_step(sketch.build({sketch.gemm(rows, 4)}), {}, {});
  TrainingStep fused = plain;
  fused.training.graph = engine::graph_of_mode(plain.training.graph,
                                               {results::ExecutionMode{.fusion = true}, {}},
                                               *make_onednn_backend())
                             .fused.graph;
  const model::Graph& graph = fused.training.graph;
  EXPECT_EQ(layers_of(graph, "gemm_bias_gradient").size(), 2U);
  for (const model::Layer& layer : layers_of(graph, "batch_norm_training")) {
    EXPECT_EQ(layer.spec.epilogue.size(), 1U);  // the relu
  }
  for (const model::Layer& layer : layers_of(graph, "matmul")) {
    EXPECT_EQ(layer.spec.epilogue.size(), 2U);  // the bias and the relu
  }
  const Values values = toy_values(plain);
  Steps apart(plain, values);
  Steps together(fused, values);
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(together.next(), apart.next(), 1e-4);
  }
  const auto expected = apart.weights();
  for (const auto& [weight, numbers] : together.weights()) {
    EXPECT_LE(distance(numbers, expected.at(weight)), 1e-4) << weight;
  }
}

/// Network with layers of each family of fusions: products of rows with bias, ReLU and GELU, and
/// two convolutions.
model::Graph with_all_families() {
  rewrite::GraphSketch sketch;
  const auto images = sketch.relu(sketch.conv(sketch.input({16, 2, 6, 6}), 8, 3, true));
  const auto flat = sketch.view(sketch.relu(sketch.conv(images, 8, 3, true)), {16, 4, 2 * 6 * 6});
  const auto hidden = sketch.relu(sketch.add(sketch.matmul(flat, 12), sketch.weight({12})));
  const auto inner = sketch.add(sketch.matmul(hidden, 12), sketch.weight({12}));
  const auto rows = sketch.matmul(sketch.eltwise(inner, "gelu_erf"), 4);
  return sketch.build({sketch.gemm(sketch.view(rows, {16, 4 * 4}), 4)});
}

TEST(TrainingSteps, compute_the_same_where_one_family_is_fused) {
  const TrainingStep plain = rewrite::training_step(with_all_families(), {}, {});
  const Values values = toy_values(plain);
  Steps apart(plain, values);
  std::vector<double> losses(3);
  std::generate(losses.begin(), losses.end(), [&] { return apart.next(); });
  const auto expected = apart.weights();
  const auto backend = make_onednn_backend();
  const std::map<std::string_view, std::size_t> fewer{// layers
                                                      {"fused_optimizer", 10},
                                                      {"gemm_bias", 5},
                                                      {"gemm_gelu", 2},
                                                      {"gemm_relu", 4}};
  for (const auto& [family, layers] : fewer) {
    TrainingStep fused = plain;
    fused.training.graph =
        engine::graph_of_mode(
            plain.training.graph, {results::execution_mode_from(family), {}}, *backend)
            .fused.graph;
    EXPECT_EQ(fused.training.graph.layers.size(), plain.training.graph.layers.size() - layers)
        << family;
    Steps together(fused, values);
    for (const double loss : losses) {
      EXPECT_NEAR(together.next(), loss, 1e-4 * std::max(1.0, std::fabs(loss))) << family;
    }
    for (const auto& [weight, numbers] : together.weights()) {
      EXPECT_LE(distance(numbers, expected.at(weight)), 1e-4) << family << " " << weight;
    }
  }
}

TEST(TrainingSteps, are_refused_where_the_library_has_nothing_of_a_family) {
  const TrainingStep step = rewrite::training_step(with_all_families(), {}, {});
  const auto refusal = [](const model::Graph& graph, const char* family) {
    try {
      static_cast<void>(engine::graph_of_mode(
          graph, {results::execution_mode_from(family), {}}, *make_onednn_backend()));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("it is not refused");
  };
  EXPECT_THAT(refusal(step.training.graph, "conv_relu_backward"),
              ::testing::HasSubstr("with nothing fused after it"));
  EXPECT_THAT(refusal(with_all_families(), "fused_optimizer"),
              ::testing::HasSubstr("which is one for steps of training"));
}

TEST(TrainingSteps, leave_the_kernels_of_gradients_to_the_library) {
  const TrainingStep step = rewrite::training_step(grouped(16), {}, {});
  const Steps steps(step, toy_values(step));
  const auto backend = make_onednn_backend();
  std::size_t gradients = 0;
  for (model::LayerId id = 0; id < step.training.graph.layers.size(); ++id) {
    const model::Layer& layer = step.training.graph.layers[id];
    if (layer.spec.op.starts_with("conv_backward")) {
      const std::string& executed = steps.prepared().variants.at(id);
      const std::string choice = backend->variants(layer.key).front().text;
      EXPECT_EQ(executed.substr(0, executed.find(';')), choice.substr(0, choice.find(';')));
      ++gradients;
    }
  }
  EXPECT_EQ(gradients, 3U);
}

TEST(TrainingSteps, do_not_depend_on_the_number_of_threads) {
  for (const auto kind : {rewrite::TrainingStep::Optimizer::Kind::kSgd,
                          rewrite::TrainingStep::Optimizer::Kind::kAdam,
                          rewrite::TrainingStep::Optimizer::Kind::kLamb}) {
    rewrite::GraphSketch sketch;  // whose weights are several pieces
    const auto x = sketch.input({4, 300});
    const auto hidden = sketch.relu(sketch.gemm(x, 700));
    const TrainingStep step =
        rewrite::training_step(sketch.build({sketch.gemm(hidden, 4)}), {}, {.kind = kind});
    const Values values = toy_values(step);
    const auto weights_with = [&](int threads) {
      Steps steps(step, values);
      steps.next();
      const OpenmpThreads of_update(threads);
      steps.next();
      return steps.weights();
    };
    const auto alone = weights_with(1);
    for (const auto& [weight, numbers] : weights_with(2)) {
      EXPECT_LE(distance(numbers, alone.at(weight)), 1e-6) << weight;
    }
  }
}

TEST(OpenmpThreads, run_all_numbers_once) {
  for (const int threads : {1, 2, 3}) {
    const OpenmpThreads scope(threads);
    std::vector<std::atomic<int>> calls(1000);
    run_parallel(calls.size(), [&](std::size_t i) { ++calls[i]; });
    EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == 1; }));
  }
}

TEST(TrainingSteps, keep_no_second_copy_of_the_weights) {
  const TrainingStep step = rewrite::training_step(toy(), {}, {});
  const Steps steps(step, toy_values(step));
  std::size_t outputs = 0;
  for (const model::ValueId output : step.training.graph.outputs) {
    outputs +=
        static_cast<std::size_t>(model::byte_size(step.training.graph.values[output].type).value);
  }
  // Inputs, weights, momentum and gradients, and what the backward pass needs: without the outputs.
  std::size_t inputs = 0;
  for (const model::ValueId input : step.training.graph.inputs) {
    inputs +=
        static_cast<std::size_t>(model::byte_size(step.training.graph.values[input].type).value);
  }
  EXPECT_GT(outputs, inputs / 2);
  const worker::Program::Facts facts = steps.prepared().program->facts();
  EXPECT_EQ(static_cast<std::size_t>(facts.activation_bytes.value), inputs);
}

/// Makes the first step of a model by SGD in a mode, as a run does.
engine::ReadyModel first_step(const engine::RequestedModel& model,
                              worker::Backend& backend,
                              const results::ExecutionMode& mode = {}) {
  engine::ReadyModel ready = engine::prepare_mode(backend, model, {mode, {}});
  if (ready.outcome.ok()) {
    engine::make_ready(model, measure::steady_clock(), ready);
  }
  return ready;
}

TEST(TrainingSteps, of_dlrm_agree_with_the_reference) {
  worker::ExecuteRequest request;
  request.model = zoo::find("dlrm-dcnv2")->build(8, {{"rows", 16}}).SerializeAsString();
  request.training = "sgd";
  engine::RequestedModel model(request);
  model.fill();
  const auto backend = make_onednn_backend();
  engine::ReadyModel ready = first_step(model, *backend);
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  EXPECT_GT(engine::number_at(ready.outputs.at(0), 0), 0.1) << "a loss of labels by chance";
  ready.rounding = engine::measure_rounding(model, ready);
  const auto deviation =
      engine::ReferenceComparison(model::totals(model.graph()).macs).compare(model, ready, {});
  ASSERT_TRUE(deviation);
  EXPECT_FALSE(deviation->is_beyond()) << deviation->error;
}

TEST(TrainingSteps, by_each_loss_agree_with_the_reference) {
  onnx::ModelProto segments;
  const auto status = onnx::OnnxParser::Parse(
      segments,
      "<ir_version: 8, opset_import: [\"\": 17]> g (float[4,3,6,6] x) => (float[4,3,6,6] y)"
      "<float[3,3,1,1] w = {0.5, -0.25, 0.75, 1.0, 0.25, -0.5, -1.0, 0.125, 0.375}> {"
      " y = Conv(x, w) }");
  ASSERT_TRUE(status.IsOK()) << status.ErrorMessage();
  const auto backend = make_onednn_backend();
  for (const std::string& loss : rewrite::loss_names()) {
    worker::ExecuteRequest request;
    request.model = segments.SerializeAsString();
    request.training = "sgd+" + loss;
    engine::RequestedModel model(request);
    model.fill();
    for (const bool fusion : {false, true}) {
      SCOPED_TRACE(loss + (fusion ? ", fused" : ""));
      engine::ReadyModel ready = first_step(model, *backend, {.fusion = fusion});
      ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
      EXPECT_GT(engine::number_at(ready.outputs.at(0), 0), 0.01);
      ready.rounding = engine::measure_rounding(model, ready);
      const auto deviation =
          engine::ReferenceComparison(model::totals(model.graph()).macs).compare(model, ready, {});
      ASSERT_TRUE(deviation);
      EXPECT_FALSE(deviation->is_beyond()) << deviation->error;
    }
  }
}

TEST(TrainingSteps, make_losses_of_detectors_and_segmenters_smaller) {
  for (const auto loss : {rewrite::Loss::kFocal, rewrite::Loss::kDiceCrossEntropy}) {
    SCOPED_TRACE(to_text(loss));
    const TrainingStep step = rewrite::training_step(
        toy(),
        {.loss = loss},
        {.kind = rewrite::TrainingStep::Optimizer::Kind::kAdam, .rate = 0.02});
    Values values = toy_values(step);
    std::vector<double> labels(std::size_t{16} * 4);
    for (std::size_t row = 0; row < 16; ++row) {
      labels[4 * row + row % 4] = 1.0;
    }
    const model::ValueId target = step.training.target;
    values[target] = engine::tensor_from(step.training.graph.values[target].type, labels);
    Steps steps(step, values);
    const double first = steps.next();
    double last = first;
    for (int i = 0; i < 60; ++i) {
      last = steps.next();
    }
    EXPECT_LT(last, 0.8 * first);
  }
}

TEST(TrainingSteps, of_lenet_with_one_family_fused_agree_with_the_reference) {
  worker::ExecuteRequest request;
  request.model = zoo::find("lenet")->build(4).SerializeAsString();
  request.training = "sgd";
  engine::RequestedModel model(request);
  model.fill();
  const auto backend = make_onednn_backend();
  for (const char* const family : {"fused_optimizer", "gemm_bias"}) {
    engine::ReadyModel ready = first_step(model, *backend, results::execution_mode_from(family));
    ASSERT_TRUE(ready.outcome.ok()) << family << ": " << ready.outcome.reason;
    EXPECT_LT(ready.plan.fused.graph.layers.size(), model.graph().layers.size()) << family;
    ready.rounding = engine::measure_rounding(model, ready);
    const auto deviation =
        engine::ReferenceComparison(model::totals(model.graph()).macs).compare(model, ready, {});
    ASSERT_TRUE(deviation) << family;
    EXPECT_FALSE(deviation->is_beyond()) << family << ": " << deviation->error;
  }
}

TEST(TrainingSteps, whose_gradients_are_all_zero_are_wrong) {
  onnx::ModelProto dead;
  const auto status = onnx::OnnxParser::Parse(
      dead,
      "<ir_version: 8, opset_import: [\"\": 17]> g (float[4,3] x) => (float[4,2] y)"
      "<float[3,2] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, float[1] far = {-1000.0}> {"
      " products = MatMul(x, w) below = Add(products, far) y = Relu(below) }");
  ASSERT_TRUE(status.IsOK()) << status.ErrorMessage();
  worker::ExecuteRequest request;
  request.model = dead.SerializeAsString();
  request.training = "sgd";
  engine::RequestedModel model(request);
  model.fill();
  const auto backend = make_onednn_backend();
  const engine::ReadyModel ready = first_step(model, *backend);
  EXPECT_EQ(ready.outcome.kind, results::Outcome::Kind::kWrongResult);
  EXPECT_THAT(ready.outcome.reason, ::testing::HasSubstr("trains nothing"));
}

TEST(TrainingSteps, a_weight_is_not_read_after_its_update) {
  TrainingStep step = rewrite::training_step(toy(), {}, {});
  model::Graph& graph = step.training.graph;
  std::rotate(graph.layers.begin(), graph.layers.end() - 1, graph.layers.end());
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    for (const model::ValueId output : graph.layers[id].outputs) {
      graph.values[output].producer = id;
    }
  }
  // Its gradient comes from an input now, so that only the order of reading is at fault.
  const model::ValueId gradient = graph.layers.front().inputs.at(1).value();
  const model::ValueId given = graph.values.size();
  graph.values.push_back({"given", graph.values[gradient].type, {}, {}});
  graph.inputs.push_back(given);
  graph.layers.front().inputs[1] = given;
  const worker::Backend::PreparedModel prepared = make_onednn_backend()->prepare_model(graph, {});
  EXPECT_EQ(prepared.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(prepared.outcome.reason, ::testing::HasSubstr("took its place"));
}

}  // namespace
}  // namespace plumb::onednn
