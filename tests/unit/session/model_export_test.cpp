// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/model_export.hpp"

#include <gtest/gtest.h>

#include <string>

#include "harness/base/error.hpp"

namespace plumb::session {
namespace {

TEST(ModelExport, reads_a_file_and_a_function) {
  const auto code = parse_model_code("models/v1.2/mine.py:build_small");
  ASSERT_TRUE(code);
  EXPECT_EQ(code->file, "models/v1.2/mine.py");
  EXPECT_EQ(code->function, "build_small");
  EXPECT_EQ(name_of(*code), "mine.py:build_small");
}

TEST(ModelExport, takes_nothing_else_for_code) {
  for (const char* text : {"resnet50-v1",
                           "mine.py",
                           "mine.py:",
                           ".py:build",
                           "mine.py:2build",
                           "mine.py:build()",
                           "mine.py:a.b",
                           "mine.onnx:build",
                           "v1:conv;in=f32[1,2]"}) {
    EXPECT_FALSE(parse_model_code(text)) << text;
  }
}

TEST(ModelExport, a_missing_file_is_said_before_a_worker_starts) {
  const std::atomic<bool> stop = false;
  try {
    static_cast<void>(export_model({"/nowhere/mine.py", "build"}, {"no such stack"}, stop));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_NE(std::string(error.what()).find("/nowhere/mine.py"), std::string::npos);
  }
}

}  // namespace
}  // namespace plumb::session
