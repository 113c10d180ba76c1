// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/results/labels/run_labels.hpp"

namespace plumb::results {
namespace {

TEST(CommitLink, makes_an_address_of_a_commit) {
  const CommitLink link("https://example.org/team/repo/commit/{commit}?tab=diff#top");
  EXPECT_EQ(link.address("4f2a9c0"), "https://example.org/team/repo/commit/4f2a9c0?tab=diff#top");
  EXPECT_EQ(CommitLink("http://host:8080/c/{commit}").address("v1.0"), "http://host:8080/c/v1.0");
}

TEST(CommitLink, escapes_whatever_a_label_says) {
  const CommitLink link("https://example.org/{commit}");
  EXPECT_EQ(link.address("a/../b"), "https://example.org/a%2F..%2Fb");
  EXPECT_EQ(link.address("\"><script>"), "https://example.org/%22%3E%3Cscript%3E");
  EXPECT_EQ(link.address("a)b](c"), "https://example.org/a%29b%5D%28c");
  EXPECT_EQ(link.address("{commit}"), "https://example.org/%7Bcommit%7D");
}

TEST(CommitLink, gives_none_without_a_template_or_a_commit) {
  EXPECT_EQ(CommitLink().address("4f2a"), "");
  const CommitLink link("https://example.org/{commit}");
  for (const char* const commit : {"", ".", "..", "..."}) {
    EXPECT_EQ(link.address(commit), "");
  }
}

TEST(CommitLink, refuses_what_is_no_template) {
  for (const char* const url : {"",
                                "https://example.org/",
                                "https://example.org/{commit}/{commit}",
                                "https://{commit}.example.org/",
                                "https:///{commit}",
                                "https://example.org{commit}",
                                "javascript:alert('{commit}')",
                                "ftp://example.org/{commit}",
                                "//example.org/{commit}",
                                "HTTPS://example.org/{commit}",
                                "https://example.org/a b/{commit}",
                                "https://example.org/\"{commit}",
                                "https://example.org/(x)/{commit}",
                                "https://example.org/\n{commit}",
                                "https://user:word@example.org/{commit}",
                                "https://example.org/{other}/{commit}"}) {
    EXPECT_THROW(CommitLink{url}, Error) << url;
  }
  EXPECT_THROW(CommitLink("https://example.org/" + std::string(500, 'a') + "/{commit}"), Error);
}

TEST(WebAddress, is_http_of_a_host_without_a_user) {
  EXPECT_TRUE(is_web_address("https://example.org/team/repo/-/jobs/12?tab=a#b"));
  EXPECT_TRUE(is_web_address("http://host:80"));
  for (const char* const text : {"",
                                 "https://",
                                 "https:///x",
                                 "javascript:x",
                                 "https://user@host/",
                                 "https://host/a b",
                                 "https://host/)",
                                 "https://host/\"",
                                 "https://host/<x"}) {
    EXPECT_FALSE(is_web_address(text)) << text;
  }
}

TEST(CommitLink, shows_twelve_characters_of_a_commit) {
  EXPECT_EQ(short_commit("0123456789abcdef"), "0123456789ab");
  EXPECT_EQ(short_commit("v1"), "v1");
}

}  // namespace
}  // namespace plumb::results
