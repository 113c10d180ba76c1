// SPDX-License-Identifier: Apache-2.0
#include "harness/base/utf8_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plumb {

bool is_plain(std::string_view text) {
  unsigned bits = 0;
  bool zero = false;
  for (const char c : text) {
    bits |= static_cast<unsigned char>(c);
    zero = zero || c == '\0';
  }
  return bits < 0x80U && !zero;
}

std::string in_utf8(std::string text) {
  using nlohmann::json;
  if (is_plain(text)) {
    return text;
  }
  std::replace(text.begin(), text.end(), '\0', '?');
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
      .get<std::string>();
}

}  // namespace plumb
