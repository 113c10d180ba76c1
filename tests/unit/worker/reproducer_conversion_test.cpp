// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/worker/protocol/frame_channel.hpp"
#include "tests/unit/worker/carried_value.hpp"

namespace plumb::worker {
namespace {

TEST(ReproducerConversion, requests_survive_the_wire) {
  results::Measurement row;
  row.key = {"v1:conv"};
  row.variant = "impl=a";
  row.output_hash = "0123";
  const Reproducer::Request request{{"v1:conv"}, {row, row}, 7};
  const Reproducer::Request copy = carried(request);
  EXPECT_EQ(copy.key, request.key);
  EXPECT_EQ(copy.seed, 7U);
  ASSERT_EQ(copy.rows.size(), 2U);
  EXPECT_EQ(copy.rows[1].variant, "impl=a");
  EXPECT_EQ(copy.rows[1].output_hash, "0123");
}

TEST(ReproducerConversion, programs_survive_the_wire) {
  Reproducer sample;
  sample.files = {{"main.cpp", "int main() {}\xff"}, {"plan-1.json", "{}"}};
  sample.instructions = "build it";
  sample.log_variables = {{"LOG", "all"}};
  sample.log_prefix = "log,";
  const Reproducer copy = carried(sample);
  ASSERT_EQ(copy.files.size(), 2U);
  EXPECT_EQ(copy.files[0].text, "int main() {}\ufffd");
  EXPECT_EQ(copy.files[1].name, "plan-1.json");
  EXPECT_EQ(copy.instructions, "build it");
  EXPECT_EQ(copy.log_variables, sample.log_variables);
  EXPECT_EQ(copy.log_prefix, "log,");
}

TEST(ReproducerConversion, a_file_stays_in_its_folder) {
  for (const char* name : {"", ".", "..", "../a", "/etc/x", "a/b", ".hidden", "a b", "a\nb"}) {
    EXPECT_FALSE(is_plain_file_name(name)) << name;
    Reproducer hostile;
    hostile.files = {{name, "x"}};
    EXPECT_THROW(static_cast<void>(carried(hostile)), FrameChannel::ProtocolError) << name;
  }
  EXPECT_FALSE(is_plain_file_name(std::string(65, 'a')));
}

TEST(ReproducerConversion, sizes_are_bounded) {
  Reproducer many;
  many.files.resize(kMaximumReproducerFiles + 1, {"a", "b"});
  EXPECT_THROW(static_cast<void>(carried(many)), FrameChannel::ProtocolError);
  Reproducer large;
  large.files = {{"a", std::string(kMaximumReproducerBytes + 1, 'x')}};
  EXPECT_THROW(static_cast<void>(carried(large)), FrameChannel::ProtocolError);
}

}  // namespace
}  // namespace plumb::worker
