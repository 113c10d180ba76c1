// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/matrix_axis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/analysis/history/run_series.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/results/environment.hpp"

namespace plumb::analysis {
namespace {

constexpr std::array<std::string_view, kAxes> kNames{
    "model", "runtime", "stack", "system", "threads", "batch", "type", "mode", "bound"};

/// Name of a thing, and the facts that identify it.
struct NamedIdentity {
  std::string name;
  results::Facts facts;
};

/// Returns the names of the facts that are not the same in all identities.
std::vector<std::string> differing_facts(const std::set<results::Facts>& identities) {
  std::set<std::string> names;
  for (const results::Facts& facts : identities) {
    for (const auto& [name, value] : facts) {
      names.insert(name);
    }
  }
  std::vector<std::string> differing;
  for (const std::string& name : names) {
    std::set<std::string> values;
    for (const results::Facts& facts : identities) {
      values.insert(results::fact_of(facts, name));
    }
    if (values.size() > 1) {
      differing.push_back(name);
    }
  }
  return differing;
}

/// Returns a name for each thing. Equal things have equal names, and others do not.
std::vector<std::string> distinct_names(std::span<const NamedIdentity> things) {
  std::map<std::string, std::set<results::Facts>> identities;
  for (const NamedIdentity& thing : things) {
    identities[thing.name].insert(thing.facts);
  }
  std::vector<std::string> names;
  for (const NamedIdentity& thing : things) {
    std::vector<std::string> parts;
    for (const std::string& fact : differing_facts(identities[thing.name])) {
      const std::string value = results::fact_of(thing.facts, fact);
      parts.push_back(fmt::format("{} {}", fact, value.empty() ? "none" : value));
    }
    names.push_back(parts.empty() ? thing.name
                                  : fmt::format("{} ({})", thing.name, fmt::join(parts, ", ")));
  }
  return names;
}

NamedIdentity system_of(const results::Environment& environment) {
  const std::string model = results::device_model(environment);
  return {model.empty() ? "unknown" : model.substr(0, model.find(", family")),
          system_identity(environment)};
}

NamedIdentity stack_of(const results::RunHeader& run) {
  NamedIdentity stack{run.stack, run.environment.identity};
  for (const auto& [name, value] : system_identity(run.environment)) {
    stack.facts.erase(name);
  }
  stack.facts.erase("threads");
  stack.facts.erase("gpu.uuid");
  stack.facts.erase("backend");
  stack.facts["runtime"] = run.backend;
  return stack;
}

}  // namespace

std::string_view to_text(Axis axis) {
  return enum_text(kNames, axis);
}

std::optional<Axis> parse_axis(std::string_view text) {
  return parse_enum<Axis>(kNames, text);
}

std::vector<std::string> axis_names() {
  return {kNames.begin(), kNames.end()};
}

std::string describe(Axis axis, const std::string& place) {
  switch (axis) {
    case Axis::kBatch:
      return "batch " + place;
    case Axis::kThreads:
      return place + (place == "1" ? " thread" : " threads");
    default:
      return place;
  }
}

std::vector<Coordinates> place_runs(std::span<const MatrixRun> runs) {
  std::vector<NamedIdentity> stacks;
  std::vector<NamedIdentity> systems;
  for (const MatrixRun& run : runs) {
    stacks.push_back(stack_of(run.header));
    systems.push_back(system_of(run.header.environment));
  }
  const std::vector<std::string> stack_names = distinct_names(stacks);
  const std::vector<std::string> system_names = distinct_names(systems);
  std::vector<Coordinates> places(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const results::RunHeader& header = runs[i].header;
    const std::string threads = results::fact_of(header.environment.identity, "threads");
    at(places[i], Axis::kRuntime) = header.backend;
    at(places[i], Axis::kStack) = stack_names[i];
    at(places[i], Axis::kSystem) = system_names[i];
    at(places[i], Axis::kThreads) = threads.empty() ? "unknown" : threads;
  }
  return places;
}

}  // namespace plumb::analysis
