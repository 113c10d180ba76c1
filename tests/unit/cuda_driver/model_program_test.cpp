// SPDX-License-Identifier: Apache-2.0
// The program of a whole model over the stand-in: does its graph hold all that it launches?
#include "runners/cuda/model_program.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "tests/unit/cuda_driver/stand_in_device.hpp"

namespace plumb::stand_in {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Truly;

class ModelProgramOnStandIn : public StandInTest {
 protected:
  /// Executes a model that copies its input. If `elsewhere`, its launch ignores the stream that it
  /// is given, as a library does that was not told of it, so that no capture contains it.
  std::vector<float> executed(worker::Backend::LaunchMode mode,
                              bool elsewhere,
                              bool launch_by_launch) {
    const cuda::DeviceStream other(driver());
    const model::TensorType type{model::DataType::kF32, {4}};
    cuda::ExecutionPlan plan;
    plan.implementation = "copy";
    for (const auto role : {cuda::DeviceBuffer::Role::kInput, cuda::DeviceBuffer::Role::kOutput}) {
      plan.buffers.emplace_back();
      plan.buffers.back().role = role;
      plan.buffers.back().type = type;
      plan.buffers.back().bytes = 16;
    }
    plan.outputs = {1};
    plan.steps.push_back(
        {[&](std::span<const cuda::abi::DevicePointer> buffers, cuda::abi::DevicePointer) {
           return [&, from = buffers[0], to = buffers[1]](cuda::abi::Stream stream) {
             EXPECT_EQ(cu().memcpy_on_device(to, from, 16, elsewhere ? other.get() : stream), 0);
             if (elsewhere) {
               other.synchronize();
             }
           };
         },
         {}});
    model::LayerSpec spec;
    spec.outputs = {type};
    cuda::ModelProgram program(*context_, spec, plan, mode, {}, {});
    model::Tensor input{type, std::vector<std::byte>(16)};
    std::iota(input.as<float>(), input.as<float>() + 4, 1.0F);
    program.bind(0, std::span(&input, 1), false);
    program.enqueue(0);
    program.synchronize();
    std::vector<model::Tensor> outputs =
        launch_by_launch ? program.outputs_launch_by_launch(0, std::span(&input, 1))
                         : program.outputs(0);
    return outputs.empty() ? std::vector<float>()
                           : std::vector<float>(outputs[0].as<float>(), outputs[0].as<float>() + 4);
  }
};

TEST_F(ModelProgramOnStandIn, computes_the_same_captured_and_launch_by_launch) {
  for (const bool launch_by_launch : {false, true}) {
    EXPECT_THAT(executed(worker::Backend::LaunchMode::kCaptured, false, launch_by_launch),
                ElementsAre(1.0F, 2.0F, 3.0F, 4.0F));
  }
  EXPECT_THAT(executed(worker::Backend::LaunchMode::kEager, false, false),
              ElementsAre(1.0F, 2.0F, 3.0F, 4.0F));
  EXPECT_THAT(executed(worker::Backend::LaunchMode::kEager, false, true), IsEmpty());
  EXPECT_THAT(findings(), IsEmpty());
}

// bind() executes twice before it captures. What that left must not pass for the graph's result.
TEST_F(ModelProgramOnStandIn, shows_that_its_graph_lacks_a_launch) {
  EXPECT_THAT(executed(worker::Backend::LaunchMode::kCaptured, true, false),
              Each(Truly([](float value) { return std::isnan(value); })));
  EXPECT_THAT(executed(worker::Backend::LaunchMode::kCaptured, true, true),
              ElementsAre(1.0F, 2.0F, 3.0F, 4.0F));
}

}  // namespace
}  // namespace plumb::stand_in
