// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/stacks/stack_fetch.hpp"

namespace plumb::stacks {
namespace {

using testing::ElementsAre;
using testing::EndsWith;

TEST(PythonPackages, gives_pytorch_its_name_in_the_index_and_what_its_worker_needs) {
  EXPECT_THAT(wheel_requirements({"pytorch==2.15.0"}),
              ElementsAre("torch==2.15.0", "numpy", "onnx", "onnxscript", "protobuf"));
  EXPECT_THAT(
      wheel_requirements({"torchvision==0.30.0", "torch==2.15.0"}),
      ElementsAre(
          "torchvision==0.30.0", "torch==2.15.0", "numpy", "onnx", "onnxscript", "protobuf"));
}

TEST(PythonPackages, leaves_other_packages_alone) {
  EXPECT_THAT(wheel_requirements({"onednn==2025.3.0", "torchvision==0.30.0"}),
              ElementsAre("onednn==2025.3.0", "torchvision==0.30.0"));
}

TEST(PythonPackages, names_the_interpreter_and_the_folder) {
  const auto variables = python_variables("/stacks/mine");
  EXPECT_EQ(variables.at("PYTHONPATH"), "/stacks/mine");
  EXPECT_THAT(variables.at("PLUMB_PYTHON"), EndsWith("/python3"));
}

}  // namespace
}  // namespace plumb::stacks
