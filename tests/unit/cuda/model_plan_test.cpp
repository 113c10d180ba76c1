// SPDX-License-Identifier: Apache-2.0
// Plans of whole models, executed on the host: our kernels by its compiler, what libraries do on a
// GPU by the reference. Buffers, layouts, reorders and the memory plan are those of the GPU.
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <cmath>

#include "harness/model/onnx/onnx_reader.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/model_program.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "tests/unit/cuda/host_plan.hpp"

namespace plumb::cuda {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kModel = R"(<ir_version: 8, opset_import: ["": 17]>
  sample (float[2, 8, 10, 10] x) => (float[2, 12] y) {
    c0 = Conv <pads = [1, 1, 1, 1]> (x, w0)
    n0 = BatchNormalization (c0, s, b, m, v)
    r0 = Relu (n0)
    left = Conv (r0, w1)
    right = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]> (r0)
    both = Add (left, right)
    joined = Concat <axis = 1> (both, r0)
    pooled = GlobalAveragePool (joined)
    flat = Flatten (pooled)
    z = MatMul (flat, w2)
    y = Softmax <axis = 1> (z)
  })";

/// Makes the steps of launches on the host, to be compiled before they run.
class HostSource {
 public:
  ModelProgram::Source source() {
    return {[this](const model::LayerSpec& spec) { return host_builders(spec, kernels_); },
            kernels_.steps()};
  }
  void compile() { kernels_.compile(); }

 private:
  HostKernels kernels_;
};

struct LoadedSample {
  model::Graph graph;
  std::map<model::ValueId, model::Tensor> values;
};

LoadedSample loaded_sample() {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, kModel);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  const std::map<std::string, std::vector<std::int64_t>> weights{{"w0", {16, 8, 3, 3}},
                                                                 {"s", {16}},
                                                                 {"b", {16}},
                                                                 {"m", {16}},
                                                                 {"v", {16}},
                                                                 {"w1", {16, 16, 1, 1}},
                                                                 {"w2", {32, 12}}};
  for (const auto& [name, dims] : weights) {
    onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    std::int64_t count = 1;
    for (const std::int64_t extent : dims) {
      tensor.add_dims(extent);
      count *= extent;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      tensor.add_float_data(0.25F + static_cast<float>(i * 37 % 101) / 101.0F -
                            (name == "v" ? 0.0F : 0.5F));
    }
  }
  model::LoadedModel loaded = model::load_model(model);
  LoadedSample sample{std::move(loaded.graph), std::move(loaded.constants)};
  engine::fold_constants(sample.graph, sample.values);
  const std::vector<model::Tensor> inputs = engine::model_inputs(sample.graph, 3);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sample.values[sample.graph.inputs[i]] = inputs[i];
  }
  return sample;
}

/// Runs a plan in memory of the host.
std::vector<model::Tensor> executed(const ModelPlan& model, const LoadedSample& sample) {
  std::vector<model::TensorType> outputs;
  for (const model::ValueId output : sample.graph.outputs) {
    outputs.push_back(sample.graph.values[output].type);
  }
  return run_plan(model.plan, outputs, [&](std::size_t operand) -> const model::Tensor& {
    return sample.values.at(model.operands.at(operand));
  });
}

void expect_right(const std::vector<model::Tensor>& outputs, LoadedSample sample) {
  std::vector<model::Tensor> expected;
  ASSERT_TRUE(engine::reference_model_outputs(sample.graph, sample.values, expected).ok());
  ASSERT_EQ(outputs.size(), expected.size());
  const auto count = static_cast<std::size_t>(element_count(expected[0].type));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(outputs[0].as<float>()[i], expected[0].as<float>()[i], 1e-5) << i;
  }
}

TEST(ModelPlan, executes_a_model_as_the_reference_does) {
  const LoadedSample sample = loaded_sample();
  HostSource host;
  const ModelPlan model = plan_model(sample.graph, {}, host.source(), false);
  host.compile();
  expect_right(executed(model, sample), sample);
  EXPECT_EQ(model.reorders, 0U) << "all by channels first, as the first choices have it";
  EXPECT_EQ(model.plan.steps.size(), model.origins.size());
  std::size_t apart = 0;
  for (const DeviceBuffer& buffer : model.plan.buffers) {
    apart += buffer.arena ? buffer.bytes : 0;
    EXPECT_EQ(buffer.arena.value_or(0) % 256, 0U) << "what cuMemAlloc promises of every address";
  }
  EXPECT_LT(model.plan.arena_bytes, apart) << "results share memory";
}

TEST(ModelPlan, lets_our_kernels_follow_the_layout_of_a_convolution) {
  const LoadedSample sample = loaded_sample();
  worker::LayerVariants variants;
  for (const model::Layer& layer : sample.graph.layers) {
    if (layer.spec.op == "conv") {
      variants[layer.key] = "impl=host;layout=NHWC";
    }
  }
  for (const bool apart : {false, true}) {
    HostSource host;
    const ModelPlan model = plan_model(sample.graph, variants, host.source(), apart);
    host.compile();
    expect_right(executed(model, sample), sample);
    EXPECT_EQ(model.reorders, 1U) << "of the input: 1×1 pixels lie alike in both";
    EXPECT_THAT(model.variants, Contains("impl=plumb;layout=NHWC").Times(6));
  }
}

TEST(ModelPlan, takes_the_next_variant_where_a_library_refuses_to_build_its_first) {
  const LoadedSample sample = loaded_sample();
  HostSource host;
  ModelProgram::Source source = host.source();
  source.builders = [&, builders = source.builders](const model::LayerSpec& spec) {
    std::vector<VariantBuilder> list = builders(spec);
    if (spec.op == "conv") {
      list.front().build = []() -> ExecutionPlan {
        throw DynamicLibrary::Refusal("no such kernel");
      };
    }
    return list;
  };
  const ModelPlan model = plan_model(sample.graph, {}, source, false);
  host.compile();
  expect_right(executed(model, sample), sample);
  EXPECT_THAT(model.variants, Contains("impl=host;layout=NHWC"));
  EXPECT_THAT(model.variants, Not(Contains("impl=host;layout=NCHW")));
  source.builders = [&, builders = source.builders](const model::LayerSpec& spec) {
    std::vector<VariantBuilder> list = builders(spec);
    for (VariantBuilder& builder : list) {
      builder.build = []() -> ExecutionPlan { throw DynamicLibrary::Refusal("none at all"); };
    }
    return list;
  };
  EXPECT_THROW(static_cast<void>(plan_model(sample.graph, {}, source, false)), Unsupported);
}

TEST(ModelPlan, names_the_layer_that_cannot_be_executed) {
  const LoadedSample sample = loaded_sample();
  ModelProgram::Source nothing;
  nothing.builders = [](const model::LayerSpec& spec) -> std::vector<VariantBuilder> {
    throw Unsupported(spec.op + " is not there");
  };
  try {
    static_cast<void>(plan_model(sample.graph, {}, nothing, false));
    FAIL();
  } catch (const Unsupported& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("conv is not there"));
    EXPECT_THAT(refusal.what(), HasSubstr("layer "));
  }
}

}  // namespace
}  // namespace plumb::cuda
