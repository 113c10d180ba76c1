// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/cudnn_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"

namespace plumb::cuda {
namespace {

std::string refusal_of(const std::vector<std::filesystem::path>& libraries) {
  try {
    const CudnnLibrary library(libraries);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    return error.what();
  }
  return {};
}

TEST(CudnnLibrary, says_which_file_is_missing_and_how_to_get_it) {
  const std::string text = refusal_of({"/nowhere/libcudnn.so.9"});
  EXPECT_THAT(text, testing::HasSubstr("/nowhere/libcudnn.so.9"));
  EXPECT_THAT(text, testing::HasSubstr("plumb stacks fetch nvidia-cudnn-cu13"));
}

TEST(CudnnLibrary, refuses_a_stack_without_cudnn) {
  EXPECT_THAT(refusal_of({}), testing::HasSubstr("no symbol cudnnGetVersion"));
}

}  // namespace
}  // namespace plumb::cuda
