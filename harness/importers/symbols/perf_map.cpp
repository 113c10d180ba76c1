// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/symbols/perf_map.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

/// Removes a number and the space behind it from a line. Absent: it begins with none.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  if (line.starts_with("0x")) {
    line.remove_prefix(2);
  }
  std::uint64_t number = 0;
  const char* const end = line.data() + line.size();
  const auto [after, fault] = std::from_chars(line.data(), end, number, 16);
  if (fault != std::errc() || after == end || *after != ' ') {
    return std::nullopt;
  }
  line.remove_prefix(static_cast<std::size_t>(after - line.data()) + 1);
  return number;
}

std::optional<NamedCode> read_line(std::string_view line) {
  const auto begin = take_number(line);
  const auto size = begin ? take_number(line) : std::nullopt;
  if (!size || line.empty() || *size == 0 || *begin > UINT64_MAX - *size) {
    return std::nullopt;
  }
  return NamedCode{*begin, *begin + *size, std::string(line.substr(0, kMaxCodeName))};
}

}  // namespace

std::vector<NamedCode> read_perf_map(std::string_view text) {
  if (text.size() > kMaxPerfMapBytes) {
    throw Error(Error::Kind::kUser,
                fmt::format("a perf map of {} bytes, more than {}", text.size(), kMaxPerfMapBytes));
  }
  CodeMap<NamedCode> code;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;) {
    if (auto function = read_line(text.substr(0, end))) {
      code.add(*std::move(function));
    }
    text.remove_prefix(end + 1);
  }
  std::vector<NamedCode> functions = std::move(code).take();
  if (functions.empty()) {
    throw Error(Error::Kind::kUser, "not a perf map: no line has an address, a size and a name");
  }
  return functions;
}

}  // namespace plumb::importers
