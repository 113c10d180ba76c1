// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/web_request.hpp"

#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "harness/serve/review_comment.hpp"

namespace plumb::serve {
namespace {

TEST(TrustedAddress, is_https_or_this_machine) {
  for (const char* const url : {"https://example.org", "https://example.org:8443/api/v4/"}) {
    EXPECT_FALSE(check_trusted_address(url)) << url;
  }
  for (const char* const url :
       {"http://127.0.0.1:80/x", "http://127.9.8.7", "http://localhost:9", "http://[::1]:9/a"}) {
    EXPECT_TRUE(check_trusted_address(url)) << url;
  }
  for (const char* const url : {"",
                                "example.org",
                                "http://example.org",
                                "http://127.0.0.1.example.org",
                                "http://localhost.example.org",
                                "http://127.example.org",
                                "http://example.org#@127.0.0.1",
                                "http://example.org\\@127.0.0.1",
                                "http://user:word@127.0.0.1",
                                "https://user@example.org",
                                "https://example.org/?a=b",
                                "ftp://127.0.0.1",
                                "file:///etc/passwd",
                                "http://0.0.0.0",
                                "http://[::2]"}) {
    EXPECT_THROW(static_cast<void>(check_trusted_address(url)), Error) << url;
  }
}

TEST(TrustedAddress, shows_no_password) {
  try {
    check_trusted_address("http://ann:secret@example.org/");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("secret")));
  }
}

TEST(Review, has_names_and_a_number) {
  const auto checked = [](Review::Forge forge, const std::string& project, std::int64_t number) {
    check_review({forge, "https://example.org", project, number});
  };
  EXPECT_NO_THROW(checked(Review::Forge::kGithub, "team/repo.name-1_x", 1));
  EXPECT_NO_THROW(checked(Review::Forge::kGitlab, "group/sub/sub/project", 1));
  EXPECT_NO_THROW(checked(Review::Forge::kGitlab, "12345", 1));
  for (const char* const project :
       {"", "/", "a/", "/a", "a//b", "a/..", "./b", "a/b c", "a/b?c", "a/b#c", "a/%2e", "a/b\n"}) {
    EXPECT_THROW(checked(Review::Forge::kGithub, project, 1), Error) << project;
    EXPECT_THROW(checked(Review::Forge::kGitlab, project, 1), Error) << project;
  }
  EXPECT_THROW(checked(Review::Forge::kGithub, "repo", 1), Error);
  EXPECT_THROW(checked(Review::Forge::kGithub, "a/b/c", 1), Error);
  EXPECT_THROW(checked(Review::Forge::kGithub, "team/repo", 0), Error);
  EXPECT_THROW(checked(Review::Forge::kGitlab, std::string(256, 'a'), 1), Error);
}

}  // namespace
}  // namespace plumb::serve
