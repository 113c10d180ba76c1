// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/profile_json.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/results/profile/listing_json.hpp"
#include "harness/results/profile/profile_fields.hpp"
#include "harness/results/profile/stored_profile.hpp"

namespace plumb::results {
namespace {

constexpr FieldLimits kCount{.high = 4'000'000'000};  // of blocks, of steps, of samples…

/// Step with its name, which a profile keeps in a list of its own.
struct NamedStep {
  std::string name;
  ProfiledStep step;
};

std::vector<NamedStep> join_names(const NamedProfile& profile) {
  std::vector<NamedStep> steps;
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    steps.push_back({profile.step_names[i], profile.steps[i]});
  }
  return steps;
}

void divide_names(std::vector<NamedStep> steps, NamedProfile& profile) {
  for (NamedStep& step : steps) {
    profile.step_names.push_back(std::move(step.name));
    profile.steps.push_back(std::move(step.step));
  }
}

[[noreturn]] void fail(const std::string& what) {
  throw Error(Error::Kind::kUser, fmt::format("not a profile of this program: {}", what));
}

void check_step(std::uint32_t step, const NamedProfile& profile) {
  if (step != kNoStep && step >= profile.steps.size()) {
    fail(fmt::format("'step' is {}, and it has {}", step, profile.steps.size()));
  }
}

void check_function(std::uint32_t function, const NamedProfile& profile) {
  if (function >= profile.functions.size()) {
    fail(fmt::format("a function is {}, and it has {}", function, profile.functions.size()));
  }
}

/// Checks that the parts of a profile refer to each other.
void check(const NamedProfile& profile) {
  for (const ProfileCell& cell : profile.cells) {
    check_step(cell.step, profile);
    check_function(cell.function, profile);
    if (!cell.counts.empty() && cell.counts.back().block >= profile.blocks.size()) {
      refuse_counts();
    }
  }
  for (const ProfiledStack& stack : profile.stacks) {
    check_step(stack.step, profile);
    if (stack.functions.empty()) {
      fail("a stack without functions");
    }
    for (const std::uint32_t function : stack.functions) {
      check_function(function, profile);
    }
  }
  std::uint64_t blocks = 0;
  for (const MergedRun& run : profile.runs) {
    blocks += run.blocks;
  }
  if (!profile.runs.empty() && blocks != profile.blocks.size()) {
    fail(fmt::format("its runs have {} blocks of {}", blocks, profile.blocks.size()));
  }
  if (!has_whole_processes(profile)) {
    fail("its processes have other blocks than it has");
  }
}

}  // namespace

template <typename Fields>
void describe(Fields& fields, Described<Fields, NamedStep>& value) {
  fields("name", value.name);
  describe(fields, value.step);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ProfiledFunction>& value) {
  fields("name", value.name);
  fields("image", value.image);
  fields.unless_empty("build_id", value.build_id);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ProfileCell>& value) {
  fields.known_if(value.step != kNoStep, "step", value.step, kCount);
  fields("function", value.function, kCount);
  fields.converted("counts", value.counts, counts_json, [](const auto& pairs, const char*) {
    return counts_from(pairs);
  });
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ProfiledStack>& value) {
  fields.known_if(value.step != kNoStep, "step", value.step, kCount);
  fields("functions", value.functions, kCount);
  fields("samples", value.samples, kCount);
  fields.known_if(value.thread != 0, "thread", value.thread, kCount);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, MergedRun>& value) {
  fields("run", value.run);
  fields("started", value.started);
  fields("environment", value.environment);
  fields("blocks", value.blocks, kCount);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, NamedProfile>& value) {
  fields("model", value.model);
  fields("mode", value.mode);
  fields("stack", value.stack);
  fields("clock", value.clock, sampling_clock_from);
  fields("refused", value.refused);
  fields("asked_hertz", value.asked_rate);
  fields("hertz", value.rate);
  fields("threads", value.threads, kCount);
  fields("lost_samples", value.lost, kCount);
  fields("problems", value.problems);
  std::vector<NamedStep> steps = join_names(value);
  fields("steps", steps);
  fields("functions", value.functions);
  fields("blocks", value.blocks);
  fields("cells", value.cells);
  // Earlier versions wrote no stacks, listings, runs and processes.
  fields.since("stacks", value.stacks);
  fields.converted_since(
      "listings",
      value.listings,
      [](const auto& listings) { return to_json(listings); },
      [&](const auto& listings, const char*) {
        return code_listings_from_json(listings, value.blocks.size());
      },
      std::vector<CodeListing>{});
  fields.unless_empty("runs", value.runs);
  fields.unless_empty("processes", value.processes);
  if constexpr (Fields::kReads) {
    divide_names(std::move(steps), value);
    check(value);
  }
}

nlohmann::ordered_json to_json(const NamedProfile& profile) {
  return json_of<nlohmann::ordered_json>(profile);
}

NamedProfile named_profile_from_json(const nlohmann::json& document) {
  return value_from<NamedProfile>(JsonObject(document));
}

}  // namespace plumb::results
