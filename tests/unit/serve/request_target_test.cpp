// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/request_target.hpp"

#include <gmock/gmock.h>

#include "harness/base/encoding.hpp"

namespace plumb::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RequestTarget, is_segments_and_a_query) {
  EXPECT_THAT(parse_request_target("/")->path, IsEmpty());
  EXPECT_THAT(parse_request_target("/runs/01J")->path, ElementsAre("runs", "01J"));
  const auto target = parse_request_target("/compare?base=a%2Fb&cand=c+d&vary=stack&vary=suite&x");
  EXPECT_THAT(target->path, ElementsAre("compare"));
  EXPECT_EQ(target->value("base"), "a/b");
  EXPECT_EQ(target->value("cand"), "c d");
  EXPECT_EQ(target->value("x"), "");
  EXPECT_EQ(target->value("nothing"), "");
  EXPECT_EQ(target->query.count("vary"), 2U);
}

TEST(RequestTarget, an_encoded_slash_parts_nothing) {
  EXPECT_THAT(parse_request_target("/models/a%2F..%2Fb")->path, ElementsAre("models", "a/../b"));
}

TEST(RequestTarget, refuses_what_is_none) {
  for (const std::string text : {"",
                                 "*",
                                 "runs",
                                 "http://host/",
                                 "//",
                                 "/runs/",
                                 "/runs//x",
                                 "/%",
                                 "/%4",
                                 "/%zz",
                                 "/%00",
                                 "/a%0Ab",
                                 "/?a=%1F",
                                 "/a\tb"}) {
    EXPECT_FALSE(parse_request_target(text)) << text;
  }
  EXPECT_FALSE(parse_request_target("/" + std::string(5000, 'a')));
  std::string deep;
  for (int i = 0; i < 40; ++i) {
    deep += "/a";
  }
  EXPECT_FALSE(parse_request_target(deep));
}

TEST(RequestTarget, what_is_encoded_comes_back) {
  const std::string odd = "a b/ü?&=%+\"<>'";
  EXPECT_THAT(parse_request_target("/models/" + percent_encoded(odd))->path,
              ElementsAre("models", odd));
  EXPECT_EQ(parse_request_target("/?a=" + percent_encoded(odd))->value("a"), odd);
}

}  // namespace
}  // namespace plumb::serve
