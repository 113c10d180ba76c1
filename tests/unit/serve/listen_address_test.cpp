// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "harness/serve/http_server.hpp"

namespace plumb::serve {
namespace {

TEST(ListenAddress, reads_hosts_and_ports) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:9779").host, "127.0.0.1");
  EXPECT_EQ(parse_listen_address("127.0.0.1:9779").port, 9779);
  EXPECT_EQ(parse_listen_address("[::1]:0").host, "::1");
  EXPECT_EQ(to_text(parse_listen_address("[::1]:80")), "[::1]:80");
  EXPECT_EQ(to_text(parse_listen_address("localhost:80")), "localhost:80");
}

TEST(ListenAddress, refuses_anything_else) {
  for (const char* const text : {"",
                                 ":",
                                 "80",
                                 ":80",
                                 "host",
                                 "host:",
                                 "host:x",
                                 "host:-1",
                                 "host:65536",
                                 "host:80 ",
                                 "::1:80",
                                 "[]:80"}) {
    EXPECT_THROW((void)parse_listen_address(text), Error) << text;
  }
}

}  // namespace
}  // namespace plumb::serve
