// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/environment_difference.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "harness/results/run.hpp"

namespace plumb::analysis {
namespace {

constexpr const char* kWorkerDigest = "worker.sha256";

// Facts that change from run to run by themselves: clocks, load, memory in use, temperature.
constexpr std::array<std::string_view, 9> kReadings{"frequency.mhz_now",
                                                    "gpu.clock_now_hertz",
                                                    "gpu.free_memory_bytes",
                                                    "gpu.held_memory_bytes",
                                                    "gpu.memory_clock_now_hertz",
                                                    "gpu.other_processes",
                                                    "gpu.temperature_celsius",
                                                    "load",
                                                    "import"};

/// Returns whether a fact is only a name or a path of something that another fact identifies by its
/// content.
bool is_name(const std::string& fact) {
  return fact == "boot.id" || fact == "stack.name" || fact == "plumb.commit" ||
         fact == "plumb.version" || fact.ends_with(".path");
}

}  // namespace

std::vector<EnvironmentDifference> environment_diff(const results::Environment& baseline,
                                                    const results::Environment& candidate) {
  std::vector<EnvironmentDifference> result;
  const auto add = [&](const results::Facts& left, const results::Facts& right, bool identity) {
    std::set<std::string> names;
    for (const results::Facts* facts : {&left, &right}) {
      for (const auto& [name, value] : *facts) {
        names.insert(name);
      }
    }
    for (const std::string& name : names) {
      const auto before = left.find(name);
      const auto after = right.find(name);
      const std::string old = before == left.end() ? "" : before->second;
      const std::string now = after == right.end() ? "" : after->second;
      if (old != now) {
        result.push_back({name, old, now, identity});
      }
    }
  };
  add(baseline.identity, candidate.identity, true);
  add(baseline.facts, candidate.facts, false);
  return result;
}

bool is_varied(const std::string& fact, std::span<const std::string> varied) {
  return std::any_of(varied.begin(), varied.end(), [&](const std::string& name) {
    return (name == "stack" && results::is_of_stack(fact)) || fact == name ||
           fact.starts_with(name + ".");
  });
}

bool is_reading(const std::string& fact) {
  return fact.starts_with("measure.") || fact.starts_with("import.") ||
         std::find(kReadings.begin(), kReadings.end(), fact) != kReadings.end();
}

bool names_device(const std::string& fact) {
  return fact == "gpu.uuid" || fact == "gpu.index" || fact == "gpu.bus";
}

bool is_same_software(const results::Environment& baseline, const results::Environment& candidate) {
  const std::vector<EnvironmentDifference> all = environment_diff(baseline, candidate);
  return baseline.facts.contains(kWorkerDigest) && candidate.facts.contains(kWorkerDigest) &&
         std::all_of(all.begin(), all.end(), [](const EnvironmentDifference& each) {
           return names_device(each.name) ||
                  (!each.identity && (is_reading(each.name) || is_name(each.name)));
         });
}

}  // namespace plumb::analysis
