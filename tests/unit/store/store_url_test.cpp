// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/error.hpp"
#include "harness/store/store.hpp"
#include "harness/store/store_errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::store {
namespace {

using testing::HasSubstr;

std::string error_of(Error::Kind kind, const std::string& url) {
  try {
    (void)open_store(url);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "opened";
}

TEST(StoreUrl, other_schemes_are_refused_by_name) {
  EXPECT_THAT(error_of(Error::Kind::kUser, "mysql://host/db"),
              testing::AllOf(HasSubstr("mysql:"), HasSubstr("sqlite:PATH")));
  EXPECT_THAT(error_of(Error::Kind::kUser, "results.db"), HasSubstr("sqlite:PATH"));
  EXPECT_THAT(error_of(Error::Kind::kUser, ""), HasSubstr("sqlite:PATH"));
  EXPECT_THAT(error_of(Error::Kind::kUser, "sqlite:"), HasSubstr("names no file"));
}

TEST(StoreUrl, a_password_in_a_url_is_refused_and_not_repeated) {
  for (const char* const url : {"postgresql://ci:hunter2@host/plumb",
                                "postgresql://ci@host/plumb?password=hunter2",
                                "postgresql://ci@host/plumb?sslpassword=hunter2",
                                "postgresql://ci:hunter2@[host/plumb",
                                "postgresql://ci@host/plumb?pasword=hunter2",
                                "postgres://ci:%68unter2@host/plumb"}) {
    const std::string text = error_of(Error::Kind::kUser, url);
    EXPECT_THAT(text, HasSubstr("password")) << url;
    EXPECT_THAT(text, testing::Not(HasSubstr("unter2"))) << url;
    EXPECT_THROW((void)store_identity(url), Error) << url;
  }
}

TEST(StoreUrl, a_server_that_is_away_is_told_from_a_wrong_input) {
  const TemporaryFolder folder;
  const std::string url = "postgresql:///plumb?host=" + folder.path().string();
  EXPECT_THAT(error_of(Error::Kind::kTryAgain, url), HasSubstr("away"));
  EXPECT_THROW((void)open_store(url), Store::ServerAway);
  EXPECT_EQ(store_identity(url), url);
}

TEST(StoreUrl, folders_are_made_and_odd_names_taken_as_they_are) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "new" / "a?mode=ro#50%.db";
  (void)open_store("sqlite:" + path.string());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(StoreUrl, what_cannot_be_a_store_is_left_alone) {
  const TemporaryFolder folder;
  const std::filesystem::path text = folder.path() / "text.db";
  std::ofstream(text) << std::string(5000, 'x');
  EXPECT_THAT(error_of(Error::Kind::kEnvironment, "sqlite:" + text.string()),
              testing::AllOf(HasSubstr(text.string()), HasSubstr("not a store")));
  EXPECT_EQ(std::filesystem::file_size(text), 5000U);
  EXPECT_THAT(error_of(Error::Kind::kEnvironment, "sqlite:" + folder.path().string()),
              HasSubstr(folder.path().string()));
  EXPECT_THAT(error_of(Error::Kind::kEnvironment, "sqlite:" + (text / "below.db").string()),
              HasSubstr("cannot make the folder"));
}

TEST(StoreIdentity, tells_a_replaced_store_from_the_one_that_is_open) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "store.db";
  const std::string url = "sqlite:" + path.string();
  EXPECT_FALSE(store_identity(url));
  std::ofstream(path) << "";  // somebody is about to fill it
  EXPECT_FALSE(store_identity(url));
  std::filesystem::remove(path);
  const auto open = open_store(url);
  const auto identity = store_identity(url);
  ASSERT_TRUE(identity);
  EXPECT_EQ(store_identity(url), identity);
  std::filesystem::rename(path, folder.path() / "old.db");
  const auto other = open_store(url);
  EXPECT_NE(store_identity(url), identity);
  EXPECT_THROW((void)store_identity("mysql://x"), Error);
}

TEST(StoreUrl, a_reader_makes_nothing) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "new" / "store.db";
  EXPECT_THROW((void)open_store("sqlite:" + path.string(), {.read_only = true}), Error);
  EXPECT_FALSE(std::filesystem::exists(path.parent_path()));
}

}  // namespace
}  // namespace plumb::store
