// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/push_gateway.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/serve/web_request.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::serve {
namespace {

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-' || c == '.';
}

/// Writes RFC 4648's base64url without padding.
std::string base64url(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  unsigned pending = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    pending = (pending << 8U) | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) {
      text += kDigits[(pending >> (bits - 6)) & 63U];
    }
  }
  if (bits > 0) {
    text += kDigits[(pending << (6 - bits)) & 63U];
  }
  return text;
}

}  // namespace

bool is_label_name(std::string_view name) {
  return !name.empty() && !name.starts_with("__") && (name.front() < '0' || name.front() > '9') &&
         std::all_of(
             name.begin(), name.end(), [](char c) { return is_plain(c) && c != '-' && c != '.'; });
}

std::string group_path(const GroupingKey& group) {
  std::string path = "/metrics";
  for (const auto& [name, value] : group) {
    const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), is_plain) &&
                       value != "." && value != "..";
    // The gateway reads a lone '=' as the empty value.
    path += plain ? fmt::format("/{}/{}", name, value)
                  : fmt::format("/{}@base64/{}", name, value.empty() ? "=" : base64url(value));
  }
  return path;
}

void push_to_gateway(const std::string& url, const GroupingKey& group, const std::string& text) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' is not the URL of a gateway: write http://HOST:9091 or https://…", url));
  }
  WebRequest request;
  request.method = "PUT";
  request.url = url;
  while (request.url.ends_with('/')) {
    request.url.pop_back();
  }
  request.url += group_path(group);
  request.headers = {"Content-Type: text/plain; version=0.0.4; charset=utf-8"};
  request.body = text;
  request.netrc = true;
  const WebAnswer answer = send_request(request);
  if (answer.status == 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot push to '{}': {}; check the URL and that the gateway runs",
                            without_password(url),
                            answer.problem));
  }
  if (answer.status < 200 || answer.status >= 300) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the gateway '{}' refused with status {}: {}",
                            without_password(url),
                            answer.status,
                            reporting::sanitize_utf8(answer.body)));
  }
}

}  // namespace plumb::serve
