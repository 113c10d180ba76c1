// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/request_target.hpp"

#include <algorithm>

#include "harness/base/encoding.hpp"

namespace plumb::serve {
namespace {

constexpr std::size_t kMaxBytes = 4096;
constexpr std::size_t kMaxParts = 32;

/// Decodes escapes. Absent if one is wrong or stands for a control character.
std::optional<std::string> decoded(std::string_view text) {
  std::optional<std::string> plain = percent_decoded(text);
  const bool clean = plain && std::none_of(plain->begin(), plain->end(), [](char c) {
                       return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
                     });
  return clean ? plain : std::nullopt;
}

/// Decodes a part of a query, where a plus is a space.
std::optional<std::string> decoded_query(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return decoded(spaced);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (parts.size() <= kMaxParts) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      break;
    }
    text.remove_prefix(end + 1);
  }
  return parts;
}

bool read_path(std::string_view text, RequestTarget& target) {
  const std::vector<std::string_view> segments = split(text, '/');
  if (segments.size() > kMaxParts) {
    return false;
  }
  for (const std::string_view segment : segments) {
    std::optional<std::string> plain = decoded(segment);
    if (!plain || plain->empty()) {
      return false;
    }
    target.path.push_back(std::move(*plain));
  }
  return true;
}

bool read_query(std::string_view text, RequestTarget& target) {
  const std::vector<std::string_view> pairs = split(text, '&');
  if (pairs.size() > kMaxParts) {
    return false;
  }
  for (const std::string_view pair : pairs) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = decoded_query(pair.substr(0, equals));
    const auto value = decoded_query(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) {
      return false;
    }
    if (!name->empty()) {
      target.query.emplace(*name, *value);
    }
  }
  return true;
}

}  // namespace

std::string RequestTarget::value(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

std::optional<RequestTarget> parse_request_target(std::string_view text) {
  if (text.size() > kMaxBytes || !text.starts_with('/')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  RequestTarget target;
  const std::size_t mark = text.find('?');
  const std::string_view path = text.substr(0, mark);
  if (!path.empty() && !read_path(path, target)) {
    return std::nullopt;
  }
  if (mark != std::string_view::npos && !read_query(text.substr(mark + 1), target)) {
    return std::nullopt;
  }
  return target;
}

}  // namespace plumb::serve
