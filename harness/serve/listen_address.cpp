// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/listen_address.hpp"

#include <fmt/format.h>

#include <charconv>

#include "harness/base/error.hpp"

namespace plumb::serve {

ListenAddress parse_listen_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  ListenAddress address;
  bool good = colon != std::string::npos && colon > 0;
  if (good) {
    address.host = text.substr(0, colon);
    if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
      address.host = address.host.substr(1, address.host.size() - 2);
    } else {
      good = address.host.find_first_of(":[]") == std::string::npos;
    }
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + colon + 1, end, address.port);
    good = good && parsed.ec == std::errc() && parsed.ptr == end;
  }
  if (!good) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is not an address to listen on: write HOST:PORT, such as "
                            "127.0.0.1:9779 or [::1]:9779",
                            text));
  }
  return address;
}

std::string to_text(const ListenAddress& address) {
  return address.host.find(':') == std::string::npos
             ? fmt::format("{}:{}", address.host, address.port)
             : fmt::format("[{}]:{}", address.host, address.port);
}

}  // namespace plumb::serve
