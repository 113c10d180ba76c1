// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "harness/worker/protocol/frame_channel.hpp"
#include "tests/unit/worker/carried_value.hpp"

namespace plumb::worker {
namespace {

WorkerService::ExportRequest sample_request() {
  return {.code = {"/models/mine.py", "build", std::string(64, 'a')},
          .path = "/data/new/build.onnx",
          .seed = 7};
}

TEST(ExportConversion, requests_survive_the_wire) {
  const WorkerService::ExportRequest copy = carried(sample_request());
  EXPECT_EQ(copy.code, sample_request().code);
  EXPECT_EQ(copy.path, "/data/new/build.onnx");
  EXPECT_EQ(copy.seed, 7U);
}

TEST(ExportConversion, paths_are_full_and_code_is_identified) {
  WorkerService::ExportRequest relative = sample_request();
  relative.path = "build.onnx";
  EXPECT_THROW(static_cast<void>(carried(relative)), FrameChannel::ProtocolError);
  WorkerService::ExportRequest relative_code = sample_request();
  relative_code.code.file = "mine.py";
  EXPECT_THROW(static_cast<void>(carried(relative_code)), FrameChannel::ProtocolError);
  for (const std::string& function : {std::string(), std::string(1001, 'f')}) {
    WorkerService::ExportRequest unnamed = sample_request();
    unnamed.code.function = function;
    EXPECT_THROW(static_cast<void>(carried(unnamed)), FrameChannel::ProtocolError);
  }
  for (const std::string& digest : {std::string(), std::string(63, 'a'), std::string(64, 'g')}) {
    WorkerService::ExportRequest unidentified = sample_request();
    unidentified.code.sha256 = digest;
    EXPECT_THROW(static_cast<void>(carried(unidentified)), FrameChannel::ProtocolError) << digest;
  }
}

TEST(ExportConversion, an_execution_carries_the_code_that_its_file_is_of) {
  ExecuteRequest request;
  request.path = "/data/build.onnx";
  EXPECT_FALSE(carried(request).code);
  request.code = sample_request().code;
  EXPECT_EQ(carried(request).code, request.code);
}

}  // namespace
}  // namespace plumb::worker
