// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/run_series.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace plumb {
namespace {

/// Returns whether a fact is one of `names` or below one ("library" covers "library.isa").
bool is_among(const std::string& fact, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return fact.starts_with(name) && (fact.size() == name.size() || fact[name.size()] == '.');
  });
}

constexpr std::array<std::string_view, 2> kUpgraded{"library", "driver"};
constexpr std::array<std::string_view, 6> kNotTheMachine{
    "library", "driver", "backend", "threads", "method", "cache"};
constexpr std::array<std::string_view, 6> kNoDrift{
    "library", "stack", "plumb", "boot", "worker", "backend"};

Environment without(const Environment& environment, std::span<const std::string_view> names) {
  Environment rest;
  for (const auto& [name, value] : environment.identity) {
    if (!is_among(name, names)) {
      rest.identity.emplace(name, value);
    }
  }
  return rest;
}

}  // namespace

std::string system_id(const Environment& environment) {
  return without(environment, kNotTheMachine).id();
}

RunSeries run_series_of(const RunHeader& header) {
  const Facts& identity = header.environment.identity;
  const auto threads = identity.find("threads");
  return {header.suite,
          header.backend,
          header.stack,
          threads == identity.end() ? "" : threads->second,
          system_id(header.environment)};
}

bool are_comparable(const Environment& one, const Environment& other) {
  return without(one, kUpgraded).identity == without(other, kUpgraded).identity;
}

std::vector<EnvironmentDifference> environment_drift(const Environment& before,
                                                     const Environment& after) {
  std::vector<EnvironmentDifference> drift = environment_changes(before, after);
  std::erase_if(drift, [](const EnvironmentDifference& difference) {
    return is_among(difference.name, kNoDrift);
  });
  return drift;
}

std::vector<EnvironmentDifference> environment_changes(const Environment& before,
                                                       const Environment& after) {
  std::vector<EnvironmentDifference> changes = environment_diff(before, after);
  std::erase_if(
      changes, [](const EnvironmentDifference& difference) { return is_reading(difference.name); });
  return changes;
}

}  // namespace plumb
