// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/traces/log_lines.hpp"

#include <algorithm>
#include <array>
#include <istream>
#include <string>

namespace plumb::importers {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 10;
constexpr std::size_t kMaxParts = 64;

void append(std::string_view text, std::string& line) {
  line.append(text.substr(0, kLongestLine - line.size()));
}

}  // namespace

void read_lines(std::istream& in, const std::function<void(std::string_view)>& take) {
  std::string line;  // begun in an earlier block
  std::array<char, std::size_t{1} << 16> block;
  const auto size = static_cast<std::streamsize>(block.size());
  for (std::streamsize read = in.rdbuf()->sgetn(block.data(), size); read > 0;
       read = in.rdbuf()->sgetn(block.data(), size)) {
    std::string_view rest(block.data(), static_cast<std::size_t>(read));
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      append(rest.substr(0, end), line);
      take(line);
      line.clear();
      rest.remove_prefix(end + 1);
    }
    append(rest, line);
  }
  take(line);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < kMaxParts) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

}  // namespace plumb::importers
