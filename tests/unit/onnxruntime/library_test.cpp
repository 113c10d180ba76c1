// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/onnxruntime/onnxruntime_backend.hpp"
#include "tests/unit/onnxruntime/real_library.hpp"

namespace plumb::onnxruntime {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::string refusal_of(const std::vector<std::filesystem::path>& files) {
  try {
    const Library library(files, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    return error.what();
  }
  return {};
}

TEST(OnnxRuntimeLibrary, says_what_is_wrong_and_how_to_get_one) {
  EXPECT_THAT(refusal_of({}), HasSubstr("names no library"));
  EXPECT_THAT(refusal_of({"/nowhere/libonnxruntime.so.1"}), HasSubstr("cannot be loaded"));
  EXPECT_THAT(refusal_of({PLUMB_TEXT_FILE}), HasSubstr("cannot be loaded"));
  EXPECT_THAT(refusal_of({"libm.so.6"}), HasSubstr("no symbol OrtGetApiBase"));
  EXPECT_THAT(refusal_of({"libm.so.6"}), HasSubstr("plumb stacks fetch onnxruntime=="));
}

TEST(OnnxRuntimeLibrary, has_a_version_and_the_provider_of_the_cpu) {
  if (real_library().empty()) {
    GTEST_SKIP() << "ONNX Runtime is not here: ci/setup test installs it";
  }
  const Library library(real_library(), 2);
  EXPECT_THAT(library.version(), HasSubstr("1."));
  EXPECT_THAT(real_library().front().string(), HasSubstr(library.version()));
  EXPECT_THAT(library.providers(), Contains("CPUExecutionProvider"));
}

TEST(OnnxRuntimeBackend, takes_its_level_from_the_stack) {
  if (real_library().empty()) {
    GTEST_SKIP() << "ONNX Runtime is not here: ci/setup test installs it";
  }
  const model::LayerKey relu{
      "v1:eltwise;in=f32[3,50];out=f32[3,50];acc=f32;math=strict;fn=relu;parameters=[]"};
  ::setenv(kOptimizationVariable, "basic", 1);
  const auto basic = make_onnxruntime_backend(real_library(), 1);
  ::setenv(kOptimizationVariable, "most", 1);
  EXPECT_THROW(static_cast<void>(make_onnxruntime_backend(real_library(), 1)), Error);
  ::unsetenv(kOptimizationVariable);
  const auto standard = make_onnxruntime_backend(real_library(), 1);
  EXPECT_EQ(basic->describe().identity.at("library.optimization"), "basic");
  EXPECT_EQ(basic->variants(relu).at(0).text, "optimization=basic");
  EXPECT_FALSE(standard->describe().identity.contains("library.optimization"));
  EXPECT_EQ(standard->variants(relu).at(0).text, "optimization=all");
}

TEST(OnnxRuntimeBackend, takes_its_provider_from_the_stack) {
  if (real_library().empty()) {
    GTEST_SKIP() << "ONNX Runtime is not here: ci/setup test installs it";
  }
  const std::vector<std::string> there = Library(real_library(), 1).providers();
  for (const auto& [provider, name] : {std::pair{"NoSuchProvider", "NoSuchExecutionProvider"},
                                       std::pair{"CUDA", "CUDAExecutionProvider"},
                                       std::pair{"TensorRT", "TensorrtExecutionProvider"}}) {
    if (std::find(there.begin(), there.end(), name) != there.end()) {
      continue;
    }
    ::setenv(kProviderVariable, provider, 1);
    try {
      static_cast<void>(make_onnxruntime_backend(real_library(), 1));
      ADD_FAILURE() << "the library has no provider " << provider;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
      EXPECT_THAT(error.what(), HasSubstr(std::string("'") + provider + "', but "));
      EXPECT_THAT(error.what(), HasSubstr("CPUExecutionProvider"));
    }
  }
  ::setenv(kProviderVariable, "AZURE", 1);
  const auto asked = make_onnxruntime_backend(real_library(), 1);
  ::unsetenv(kProviderVariable);
  EXPECT_EQ(asked->describe().identity.at("library.provider"), "AZURE");
  EXPECT_FALSE(make_onnxruntime_backend(real_library(), 1)
                   ->describe()
                   .identity.contains("library.provider"));
}

}  // namespace
}  // namespace plumb::onnxruntime
