// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "harness/base/error.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::suite {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array<Unit, 6> kUnits{
    {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}}};
constexpr double kMaximumSeconds = 100.0 * 366 * 86400;
constexpr std::string_view kMaxAge = "max_age:";

}  // namespace

Seconds parse_duration(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) {
      continue;
    }
    double number = 0;
    const char* const end = text.data() + text.size() - unit.name.size();
    const auto result = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    const double seconds = number * unit.seconds;
    if (result.ec == std::errc() && result.ptr == end && seconds > 0 &&
        seconds <= kMaximumSeconds) {
      return Seconds(seconds);
    }
  }
  throw Error(Error::Kind::kUser,
              fmt::format("'{}' is not a duration: write a positive number and us, ms, s, m, h or "
                          "d, such as 15ms, 10m or 7d",
                          text.substr(0, 64)));
}

ReusePolicy parse_reuse(std::string_view text) {
  if (text == "never") {
    return {.kind = ReusePolicy::Kind::kNever, .max_age = {}};
  }
  if (text == "always") {
    return {.kind = ReusePolicy::Kind::kAlways, .max_age = {}};
  }
  if (text.starts_with(kMaxAge)) {
    return {.kind = ReusePolicy::Kind::kMaxAge,
            .max_age = parse_duration(text.substr(kMaxAge.size()))};
  }
  throw Error(
      Error::Kind::kUser,
      fmt::format("unknown reuse policy '{}': use never, always, or max_age with a duration "
                  "such as max_age:7d",
                  text.substr(0, 64)));
}

std::string to_text(const ReusePolicy& policy) {
  if (policy.kind == ReusePolicy::Kind::kNever) {
    return "never";
  }
  if (policy.kind == ReusePolicy::Kind::kAlways) {
    return "always";
  }
  const double seconds = policy.max_age.count();
  for (const Unit& unit : kUnits) {
    const double count = seconds / unit.seconds;
    if (unit.seconds >= 1 && count >= 1 &&
        count == static_cast<double>(static_cast<std::int64_t>(count))) {
      return fmt::format("max_age:{}{}", static_cast<std::int64_t>(count), unit.name);
    }
  }
  return fmt::format("max_age:{}s", seconds);
}

}  // namespace plumb::suite
