// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/http_server.hpp"

#include <gmock/gmock.h>

#include "harness/base/error.hpp"

namespace plumb::serve {
namespace {

TEST(HttpServer, knows_whether_others_can_reach_it) {
  EXPECT_TRUE(HttpServer({"127.0.0.1", 0}, {}).is_loopback());
  EXPECT_FALSE(HttpServer({"0.0.0.0", 0}, {}).is_loopback());
}

TEST(HttpServer, an_address_in_use_is_said_with_what_to_do) {
  const HttpServer first({"127.0.0.1", 0}, {});
  try {
    const HttpServer second(first.address(), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), testing::HasSubstr("--listen"));
  }
}

}  // namespace
}  // namespace plumb::serve
