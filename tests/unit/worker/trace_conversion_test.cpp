// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/worker/protocol/frame_channel.hpp"
#include "tests/unit/worker/carried_value.hpp"

namespace plumb::worker {
namespace {

Trace::Request sample_request() {
  Trace::Request request;
  request.model.name = "squeezenet1.1";
  request.model.modes.front().mode.fusion = true;
  request.folder = "/traces/1";
  request.executions = 5;
  return request;
}

TEST(TraceConversion, requests_survive_the_wire) {
  const Trace::Request copy = carried(sample_request());
  EXPECT_EQ(copy.model.name, "squeezenet1.1");
  ASSERT_EQ(copy.model.modes.size(), 1U);
  EXPECT_TRUE(copy.model.modes[0].mode.fusion);
  EXPECT_EQ(copy.folder, "/traces/1");
  EXPECT_EQ(copy.executions, 5U);
}

TEST(TraceConversion, a_request_is_of_one_mode_a_full_path_and_a_bounded_number) {
  Trace::Request two = sample_request();
  two.model.modes.emplace_back();
  EXPECT_THROW(static_cast<void>(carried(two)), FrameChannel::ProtocolError);
  Trace::Request relative = sample_request();
  relative.folder = "traces";
  EXPECT_THROW(static_cast<void>(carried(relative)), FrameChannel::ProtocolError);
  for (const std::uint64_t number : {std::uint64_t{0}, kMaxTracedExecutions + 1}) {
    Trace::Request unbounded = sample_request();
    unbounded.executions = number;
    EXPECT_THROW(static_cast<void>(carried(unbounded)), FrameChannel::ProtocolError) << number;
  }
}

TEST(TraceConversion, traces_survive_the_wire) {
  const Trace copy = carried(Trace{{{"onednn", "onednn.log"}}, Seconds(0.25)});
  ASSERT_EQ(copy.files.size(), 1U);
  EXPECT_EQ(copy.files[0].format, "onednn");
  EXPECT_EQ(copy.files[0].name, "onednn.log");
  EXPECT_EQ(copy.untraced, Seconds(0.25));
  EXPECT_FALSE(carried(Trace{}).untraced);
}

TEST(TraceConversion, a_file_stays_in_its_folder_and_sizes_are_bounded) {
  for (const char* name : {"", "../a", "/etc/x", "a/b"}) {
    EXPECT_THROW(static_cast<void>(carried(Trace{{{"onednn", name}}, {}})),
                 FrameChannel::ProtocolError)
        << name;
  }
  EXPECT_THROW(
      static_cast<void>(carried(Trace{{{std::string(kMaxTraceFormatBytes + 1, 'x'), "a"}}, {}})),
      FrameChannel::ProtocolError);
  Trace many;
  many.files.resize(kMaxTraceFiles + 1, {"onednn", "a"});
  EXPECT_THROW(static_cast<void>(carried(many)), FrameChannel::ProtocolError);
  EXPECT_THROW(static_cast<void>(carried(Trace{{}, Seconds(-1.0)})), FrameChannel::ProtocolError);
}

}  // namespace
}  // namespace plumb::worker
