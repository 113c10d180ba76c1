// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "harness/serve/web_pages.hpp"

namespace plumb::serve {
namespace {

using ::testing::ElementsAre;

TEST(TriageRequest, is_parsed) {
  const WebPages::TriageRequest accept = parse_triage_request(
      R"({"action":"accept","changes":["a@R","@S"],"text":"why","who":"ann"})");
  EXPECT_THAT(accept.changes, ElementsAre("a@R", "@S"));
  EXPECT_EQ(accept.decision.state, analysis::SeriesChange::State::kAccepted);
  EXPECT_EQ(accept.decision.reason, "why");
  EXPECT_EQ(accept.decision.who, "ann");
  EXPECT_FALSE(accept.decision.assignee);
  const WebPages::TriageRequest assign =
      parse_triage_request(R"({"action":"assign","changes":["a@R"],"text":"ben"})");
  EXPECT_EQ(assign.decision.assignee, "ben");
  EXPECT_FALSE(assign.decision.state);
  EXPECT_EQ(parse_triage_request(R"({"action":"assign","changes":["a@R"],"text":"nobody"})")
                .decision.assignee,
            "");
  EXPECT_EQ(parse_triage_request(R"({"action":"note","changes":["a@R"],"text":"x"})").decision.note,
            "x");
}

TEST(TriageRequest, refuses_what_is_none) {
  for (const char* const body : {"",
                                 "[]",
                                 "{}",
                                 R"({"action":"drop","changes":["a@R"],"text":"x"})",
                                 R"({"action":"note","changes":[],"text":"x"})",
                                 R"({"action":"note","changes":["a@R"],"text":""})",
                                 R"({"action":"note","changes":"a@R","text":"x"})",
                                 R"({"action":7,"changes":["a@R"],"text":"x"})"}) {
    EXPECT_THROW(static_cast<void>(parse_triage_request(body)), Error) << body;
  }
}

TEST(Token, is_the_whole_word_behind_bearer) {
  EXPECT_TRUE(has_token("Bearer a-long-token", "a-long-token"));
  for (const char* const header : {"",
                                   "Bearer ",
                                   "Bearer a-long-toke",
                                   "Bearer a-long-token ",
                                   "bearer a-long-token",
                                   "a-long-token",
                                   "Basic a-long-token"}) {
    EXPECT_FALSE(has_token(header, "a-long-token")) << header;
  }
  EXPECT_FALSE(has_token("Bearer ", "")) << "an empty token is nobody's";
}

}  // namespace
}  // namespace plumb::serve
