// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "harness/serve/web_request.hpp"

namespace plumb::serve {
namespace {

TEST(GroupPath, writes_what_a_path_can_hold_as_it_is) {
  EXPECT_EQ(group_path({{"job", "plumb"}, {"suite", "quick-1.2_x"}}),
            "/metrics/job/plumb/suite/quick-1.2_x");
}

TEST(GroupPath, writes_everything_else_in_base64) {
  // The first two are the examples of the Pushgateway's documentation.
  EXPECT_EQ(group_path({{"job", "titan"}, {"name", "Προμηθεύς"}}),
            "/metrics/job/titan/name@base64/zqDPgc6_zrzOt864zrXPjc-C");
  EXPECT_EQ(group_path({{"path", "/var/tmp"}}), "/metrics/path@base64/L3Zhci90bXA");
  EXPECT_EQ(group_path({{"job", ""}}), "/metrics/job@base64/=");
  EXPECT_EQ(group_path({{"job", ".."}}), "/metrics/job@base64/Li4");
  EXPECT_EQ(group_path({{"job", "a b"}}), "/metrics/job@base64/YSBi");
}

TEST(LabelName, is_what_prometheus_takes) {
  EXPECT_TRUE(is_label_name("instance"));
  EXPECT_TRUE(is_label_name("_a1"));
  for (const char* const name : {"", "1a", "a-b", "a.b", "__name__", "ä", "a b", "a/b"}) {
    EXPECT_FALSE(is_label_name(name)) << name;
  }
}

TEST(PushGateway, takes_http_only_and_keeps_passwords_to_itself) {
  EXPECT_THROW(push_to_gateway("file:///etc/passwd", {{"job", "x"}}, ""), Error);
  try {
    push_to_gateway("http://user:secret@127.0.0.1:1", {{"job", "x"}}, "");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), testing::HasSubstr("127.0.0.1:1"));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace plumb::serve
