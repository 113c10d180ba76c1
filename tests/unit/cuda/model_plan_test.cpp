// SPDX-License-Identifier: Apache-2.0
// Plans of whole models, executed on the host: our kernels by its compiler, what libraries do on a
// GPU by the reference. Buffers, layouts, reorders and the memory plan are those of the GPU.
#include "runners/cuda/model_plan.hpp"

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>

#include "harness/model/onnx_reader.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/index_space.hpp"
#include "runners/cuda/library_refusal.hpp"
#include "runners/engine/constant_folding.hpp"
#include "runners/engine/model_inputs.hpp"
#include "runners/engine/random_operands.hpp"
#include "runners/engine/reference/reference.hpp"
#include "tests/support/reference_model.hpp"
#include "tests/unit/cuda/host_kernels.hpp"

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

/// Executes what a library would, by the reference, with operands in a layout.
DeviceOffer library_offer(const LayerSpec& spec, TensorLayout layout, const std::string& text) {
  DeviceOffer offer;
  offer.text = text;
  offer.inputs.assign(spec.inputs.size(), layout);
  offer.outputs.assign(spec.outputs.size(), layout);
  offer.build = [spec, layout, inputs = offer.inputs, outputs = offer.outputs] {
    DevicePlan plan = begin_plan(spec, inputs, outputs);
    DeviceStep step;
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      step.buffers.push_back(i);
    }
    step.bind = [spec, layout](std::span<const abi::DevicePointer> buffers, abi::DevicePointer) {
      const std::vector<abi::DevicePointer> at(buffers.begin(), buffers.end());
      return DeviceLaunch([spec, layout, at](abi::Stream) {
        std::vector<Tensor> operands;
        for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
          const TensorType& type = *spec.inputs[i];
          const auto* bytes = reinterpret_cast<const std::byte*>(at[i]);
          const auto size = static_cast<std::size_t>(byte_size(type).value);
          operands.push_back({type, laid_out(type, {bytes, size}, layout, true)});
        }
        const Tensor result = reference_outputs(spec, operands).at(0);
        const std::vector<std::byte> laid = laid_out(result.type, result.data, layout, false);
        std::memcpy(reinterpret_cast<void*>(at[spec.inputs.size()]), laid.data(), laid.size());
      });
    };
    plan.steps.push_back(std::move(step));
    return plan;
  };
  return offer;
}

/// Makes the steps of launches on the host, to be compiled before they run.
class HostSource {
 public:
  LayerSource source() {
    return {[this](const LayerSpec& spec) { return offers(spec); }, kernels_.steps()};
  }
  void compile() { kernels_.compile(); }

 private:
  std::vector<DeviceOffer> offers(const LayerSpec& spec) {
    if (spec.op == "conv") {
      return {library_offer(spec, TensorLayout::kChannelsFirst, "impl=host;layout=NCHW"),
              library_offer(spec, TensorLayout::kChannelsLast, "impl=host;layout=NHWC")};
    }
    if (spec.op == "matmul") {
      return {library_offer(spec, TensorLayout::kChannelsFirst, "impl=host")};
    }
    std::vector<DeviceOffer> result;
    for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
      if (!has_own_kernel(spec.op, layout)) {
        continue;
      }
      const OwnLayer layer = own_layer(spec, layout);
      DeviceOffer offer{
          "impl=plumb;layout=" + std::string(to_text(layout)), layer.inputs, layer.outputs, {}};
      offer.build = [this, spec, layer] {
        DevicePlan plan = begin_plan(spec, layer.inputs, layer.outputs);
        std::vector<std::size_t> same;
        for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
          same.push_back(i);
        }
        for (const KernelLaunch& launch : layer.launches) {
          plan.steps.push_back(kernels_.steps()(launch, same));
        }
        return plan;
      };
      result.push_back(std::move(offer));
    }
    return result;
  }

  HostKernels kernels_;
};

struct LoadedSample {
  Graph graph;
  std::map<ValueId, Tensor> values;
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
  LoadedModel loaded = load_model(model);
  LoadedSample sample{std::move(loaded.graph), std::move(loaded.constants)};
  fold_constants(sample.graph, sample.values);
  const std::vector<Tensor> inputs = model_inputs(sample.graph, 3);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sample.values[sample.graph.inputs[i]] = inputs[i];
  }
  return sample;
}

/// Runs a plan in memory of the host.
std::vector<Tensor> executed(const DeviceModelPlan& model, const LoadedSample& sample) {
  std::vector<std::byte> arena(model.plan.arena_bytes, std::byte{0x7f});  // not numbers
  std::vector<std::vector<std::byte>> owned;
  std::vector<abi::DevicePointer> addresses;
  for (const DeviceBuffer& buffer : model.plan.buffers) {
    if (buffer.arena) {
      addresses.push_back(reinterpret_cast<abi::DevicePointer>(arena.data() + *buffer.arena));
      continue;
    }
    if (buffer.role == DeviceBuffer::Role::kInput) {
      const Tensor& operand = sample.values.at(model.operands.at(buffer.operand));
      owned.push_back(laid_out(operand.type, operand.data, buffer.layout, false));
    } else {
      owned.emplace_back(buffer.bytes);
    }
    addresses.push_back(reinterpret_cast<abi::DevicePointer>(owned.back().data()));
  }
  for (const DeviceStep& step : model.plan.steps) {
    step.bind(addresses, 0)(nullptr);
  }
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < model.plan.outputs.size(); ++i) {
    const DeviceBuffer& buffer = model.plan.buffers[model.plan.outputs[i]];
    const auto* bytes = reinterpret_cast<const std::byte*>(addresses[model.plan.outputs[i]]);
    outputs.push_back({sample.graph.values[sample.graph.outputs[i]].type,
                       laid_out(buffer.type, {bytes, buffer.bytes}, buffer.layout, true)});
  }
  return outputs;
}

void expect_right(const std::vector<Tensor>& outputs, LoadedSample sample) {
  std::vector<Tensor> expected;
  ASSERT_TRUE(testing::reference_model_outputs(sample.graph, sample.values, expected).ok());
  ASSERT_EQ(outputs.size(), expected.size());
  const auto count = static_cast<std::size_t>(element_count(expected[0].type));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(outputs[0].as<float>()[i], expected[0].as<float>()[i], 1e-5) << i;
  }
}

TEST(ModelPlan, executes_a_model_as_the_reference_does) {
  const LoadedSample sample = loaded_sample();
  HostSource host;
  const DeviceModelPlan model = plan_model(sample.graph, {}, host.source(), false);
  host.compile();
  expect_right(executed(model, sample), sample);
  EXPECT_EQ(model.reorders, 0U) << "all by channels first, as the first choices have it";
  EXPECT_EQ(model.plan.steps.size(), model.origins.size());
  std::size_t apart = 0;
  for (const DeviceBuffer& buffer : model.plan.buffers) {
    apart += buffer.arena ? buffer.bytes : 0;
  }
  EXPECT_LT(model.plan.arena_bytes, apart) << "results share memory";
}

TEST(ModelPlan, lets_our_kernels_follow_the_layout_of_a_convolution) {
  const LoadedSample sample = loaded_sample();
  LayerVariants variants;
  for (const Layer& layer : sample.graph.layers) {
    if (layer.spec.op == "conv") {
      variants[layer.key] = "impl=host;layout=NHWC";
    }
  }
  for (const bool apart : {false, true}) {
    HostSource host;
    const DeviceModelPlan model = plan_model(sample.graph, variants, host.source(), apart);
    host.compile();
    expect_right(executed(model, sample), sample);
    EXPECT_EQ(model.reorders, 1U) << "of the input: 1×1 pixels lie alike in both";
    EXPECT_THAT(model.variants, Contains("impl=plumb;layout=NHWC").Times(6));
  }
}

TEST(ModelPlan, takes_the_next_variant_where_a_library_refuses_to_build_its_first) {
  const LoadedSample sample = loaded_sample();
  HostSource host;
  LayerSource source = host.source();
  source.offers = [&, offers = source.offers](const LayerSpec& spec) {
    std::vector<DeviceOffer> list = offers(spec);
    if (spec.op == "conv") {
      list.front().build = []() -> DevicePlan { throw LibraryRefusal("no such kernel"); };
    }
    return list;
  };
  const DeviceModelPlan model = plan_model(sample.graph, {}, source, false);
  host.compile();
  expect_right(executed(model, sample), sample);
  EXPECT_THAT(model.variants, Contains("impl=host;layout=NHWC"));
  EXPECT_THAT(model.variants, Not(Contains("impl=host;layout=NCHW")));
  source.offers = [&, offers = source.offers](const LayerSpec& spec) {
    std::vector<DeviceOffer> list = offers(spec);
    for (DeviceOffer& offer : list) {
      offer.build = []() -> DevicePlan { throw LibraryRefusal("none at all"); };
    }
    return list;
  };
  EXPECT_THROW(static_cast<void>(plan_model(sample.graph, {}, source, false)), Unsupported);
}

TEST(ModelPlan, names_the_layer_that_cannot_be_executed) {
  const LoadedSample sample = loaded_sample();
  LayerSource nothing;
  nothing.offers = [](const LayerSpec& spec) -> std::vector<DeviceOffer> {
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
