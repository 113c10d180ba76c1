// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/imported_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::importers {

void refuse(const std::string& what) {
  throw Error(Error::Kind::kUser, what);
}

Seconds imported_time(double seconds) {
  constexpr double kLongest = 1e7;
  if (!(seconds > 0.0 && seconds < kLongest)) {
    throw Error(Error::Kind::kUser,
                fmt::format("the time {} s is not positive and below {} s", seconds, kLongest));
  }
  return Seconds(seconds);
}

std::optional<double> unit_seconds(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}};
  const auto* const found = std::find_if(
      kUnits.begin(), kUnits.end(), [&](const auto& known) { return known.first == unit; });
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

void check_imported_name(const std::string& name) {
  const bool control = std::any_of(
      name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20U; });
  if (name.empty() || name.size() > kMaxImportedName || control) {
    throw Error(Error::Kind::kUser,
                fmt::format("a benchmark's name has 1 to {} bytes and no control characters",
                            kMaxImportedName));
  }
}

}  // namespace plumb::importers
