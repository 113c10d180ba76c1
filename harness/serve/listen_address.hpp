// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace plumb::serve {

/// Address that a server listens on.
struct ListenAddress {
  std::string host;  ///< a name or an address
  std::uint16_t port = 0;
};
/// Parses "HOST:PORT" or "[::1]:PORT"; port 0 is any free one. Throws Error{kUser}.
[[nodiscard]] ListenAddress parse_listen_address(const std::string& text);
[[nodiscard]] std::string to_text(const ListenAddress& address);

}  // namespace plumb::serve
