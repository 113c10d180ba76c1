// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/run_series.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "harness/results/environment.hpp"

namespace plumb::analysis {
namespace {

/// Returns whether a fact is one of `names` or below one ("driver" covers "driver.model").
bool is_among(const std::string& fact, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return fact.starts_with(name) && (fact.size() == name.size() || fact[name.size()] == '.');
  });
}

// Beside what is of the stack.
constexpr std::array<std::string_view, 2> kUpgradedOrEqual{"driver", "gpu.uuid"};
constexpr std::array<std::string_view, 6> kNotTheMachine{
    "driver", "backend", "threads", "method", "cache", "gpu.uuid"};
constexpr std::array<std::string_view, 7> kNoDrift{
    "stack", "plumb", "boot", "worker", "backend", "label", "gpu.index"};

/// Returns the identity without what is of the stack, and without these names.
results::Environment without_stack(const results::Environment& environment,
                                   std::span<const std::string_view> names) {
  results::Environment rest;
  for (const auto& [name, value] : environment.identity) {
    if (!results::is_of_stack(name) && !is_among(name, names)) {
      rest.identity.emplace(name, value);
    }
  }
  return rest;
}

}  // namespace

results::Facts system_identity(const results::Environment& environment) {
  return without_stack(environment, kNotTheMachine).identity;
}

std::string system_id(const results::Environment& environment) {
  return without_stack(environment, kNotTheMachine).id();
}

RunSeries run_series_of(const results::RunHeader& header) {
  return {header.suite,
          header.backend,
          header.stack,
          results::fact_of(header.environment.identity, "threads"),
          system_id(header.environment)};
}

bool are_comparable(const results::Environment& one, const results::Environment& other) {
  return without_stack(one, kUpgradedOrEqual).identity ==
         without_stack(other, kUpgradedOrEqual).identity;
}

std::vector<EnvironmentDifference> environment_drift(const results::Environment& before,
                                                     const results::Environment& after) {
  std::vector<EnvironmentDifference> drift = environment_changes(before, after);
  std::erase_if(drift, [](const EnvironmentDifference& difference) {
    return results::is_of_stack(difference.name) || is_among(difference.name, kNoDrift);
  });
  return drift;
}

std::vector<EnvironmentDifference> environment_changes(const results::Environment& before,
                                                       const results::Environment& after) {
  std::vector<EnvironmentDifference> changes = environment_diff(before, after);
  std::erase_if(
      changes, [](const EnvironmentDifference& difference) { return is_reading(difference.name); });
  return changes;
}

}  // namespace plumb::analysis
