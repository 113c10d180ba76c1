// SPDX-License-Identifier: Apache-2.0
#include "harness/suite/range_text.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/suite/toml_section.hpp"

namespace plumb::suite {
namespace {

constexpr const char* kStandardStep = "x2";
constexpr std::size_t kMaxText = 4096;

/// Parses "128", "128..1024" or "128..1024:x2". Empty if it is none, or the wrong way round.
std::optional<ExtentRange> parse_range(std::string_view text, std::int64_t maximum) {
  constexpr std::string_view kDots = "..";
  const std::size_t dots = text.find(kDots);
  const std::string_view first = text.substr(0, dots);
  std::string_view last = first;
  std::string step = kStandardStep;
  if (dots != std::string_view::npos) {
    last = text.substr(dots + kDots.size());
    const std::size_t colon = last.find(':');
    if (colon != std::string_view::npos) {
      step = last.substr(colon + 1);
      last = last.substr(0, colon);
    }
  }
  const std::optional<std::int64_t> from = parse_number<std::int64_t>(first);
  const std::optional<std::int64_t> to = parse_number<std::int64_t>(last);
  if (!from || !to || *from < 1 || *to < *from || *to > maximum) {
    return std::nullopt;
  }
  return ExtentRange{.from = *from, .to = *to, .step = std::move(step)};
}

/// Parses ranges as a suite writes them.
std::vector<ExtentRange> parse_toml_ranges(std::string_view text,
                                           const std::string& name,
                                           std::int64_t maximum) {
  if (text.find_first_of("\r\n") != std::string_view::npos) {
    throw Error(Error::Kind::kUser, fmt::format("{}: give its value on one line", name));
  }
  const bool list = text.starts_with('[');
  try {
    const toml::table table =
        toml::parse(fmt::format("value = {}{}{}", list ? "" : "[", text, list ? "" : "]"));
    const std::filesystem::path place = name;  // messages begin with it, as with a suite's file
    return TomlSection(place, table, name).read_ranges(name, *table.get("value"), maximum);
  } catch (const toml::parse_error& problem) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("{}: '{}' is not a range such as {{from = 128, to = 1024, step = \"x2\"}}: {}",
                    name,
                    text,
                    problem.description()));
  }
}

}  // namespace

std::vector<ExtentRange> parse_ranges(std::string_view text,
                                      const std::string& name,
                                      std::int64_t maximum) {
  if (text.size() <= kMaxText && text.find_first_of("{[") != std::string_view::npos) {
    return parse_toml_ranges(text, name, maximum);
  }
  std::vector<ExtentRange> ranges;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    std::optional<ExtentRange> range = parse_range(word, maximum);
    if (!range) {
      throw Error(Error::Kind::kUser,
                  fmt::format("{}: '{}' is neither a whole number from 1 to {} nor a range of "
                              "them: write, for example, 1,8 or 128..1024 or 128..1024:+64",
                              name,
                              word,
                              maximum));
    }
    ranges.push_back(*std::move(range));
    if (comma == std::string_view::npos) {
      return ranges;
    }
    text.remove_prefix(comma + 1);
  }
}

}  // namespace plumb::suite
