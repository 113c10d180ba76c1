// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/profile_json.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/results/json_fields.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr FieldLimits kNumber{.high = std::int64_t{1} << 53U};
constexpr std::size_t kMaxText = 1000;  // bytes of one instruction

}  // namespace

Json counts_json(const BlockCounts& counts) {
  Json pairs = Json::array();
  for (const SampledProfile::BlockCount& count : counts) {
    pairs.push_back({count.block, count.samples});
  }
  return pairs;
}

void refuse_counts() {
  throw Error(Error::Kind::kUser,
              "'counts' holds ascending blocks of the profile, each with its samples");
}

BlockCounts counts_from(const nlohmann::json& pairs) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto is_count = [](const nlohmann::json& number) {
    return number.is_number_unsigned() && number.get<std::uint64_t>() <= kMost;
  };
  if (!pairs.is_array()) {
    refuse_counts();
  }
  BlockCounts counts;
  for (const nlohmann::json& pair : pairs) {
    if (!pair.is_array() || pair.size() != 2 || !is_count(pair[0]) || !is_count(pair[1])) {
      refuse_counts();
    }
    const SampledProfile::BlockCount count{pair[0].get<std::uint32_t>(),
                                           pair[1].get<std::uint32_t>()};
    if (count.samples == 0 || (!counts.empty() && counts.back().block >= count.block)) {
      refuse_counts();
    }
    counts.push_back(count);
  }
  return counts;
}

namespace {

/// Checks that counts are those of a profile's blocks.
void check_counts(const BlockCounts& counts, std::uint64_t samples, std::size_t blocks) {
  if (!counts.empty() && (counts.back().block >= blocks || count_samples(counts) != samples)) {
    refuse_counts();
  }
}

}  // namespace

template <typename Fields>
void describe(Fields& fields, Described<Fields, NamedProfile::Listing::Instruction>& value) {
  fields("offset", value.offset, kNumber);
  fields("bytes", value.bytes, kNumber);
  fields("text", value.text);
  fields("samples", value.samples, kNumber);
  fields.unless_empty("counts", value.counts, counts_json, counts_from);
  if (Fields::kReads && value.text.size() > kMaxText) {
    throw Error(Error::Kind::kUser,
                fmt::format("an instruction of {} bytes of text, where {} is the most",
                            value.text.size(),
                            kMaxText));
  }
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, NamedProfile::Listing>& value) {
  fields("name", value.function.name);
  fields("image", value.function.image);
  fields.unless_empty("build_id", value.function.build_id);
  fields("step", value.step);
  fields("samples", value.samples, kNumber);
  fields.unless_empty("counts", value.counts, counts_json, counts_from);
  fields("samples_of_profile", value.of_profile, kNumber);
  fields("alike", value.alike, kNumber);
  fields("exact", value.exact);
  fields("bytes", value.bytes, kNumber);
  fields("bytes_listed", value.bytes_listed, kNumber);
  fields("disassembled", value.disassembled, kNumber);
  fields("instructions", value.instructions);
  fields.unless_empty("problem", value.problem);
}

Json to_json(const NamedProfile::Listing& listing) {
  return json_of<Json>(listing);
}

Json to_json(const std::vector<NamedProfile::Listing>& listings) {
  return json_of<Json>(listings);
}

std::vector<NamedProfile::Listing> code_listings_from_json(const nlohmann::json& listings,
                                                           std::size_t blocks) {
  if (!listings.is_array() || listings.size() > kMaxListings) {
    throw Error(Error::Kind::kUser,
                fmt::format("listings are an array of at most {} entries", kMaxListings));
  }
  std::vector<NamedProfile::Listing> read;
  for (const nlohmann::json& entry : listings) {
    const NamedProfile::Listing& listing =
        read.emplace_back(value_from<NamedProfile::Listing>(JsonObject(entry)));
    check_counts(listing.counts, listing.samples, blocks);
    for (const NamedProfile::Listing::Instruction& instruction : listing.instructions) {
      check_counts(instruction.counts, instruction.samples, blocks);
    }
  }
  return read;
}

namespace {

constexpr FieldLimits kCount{.high = 4'000'000'000};  // of blocks, of steps, of samples…

/// Step with its name, which a profile keeps in a list of its own.
struct NamedStep {
  std::string name;
  SampledProfile::Step step;
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
  for (const NamedProfile::Cell& cell : profile.cells) {
    check_step(cell.step, profile);
    check_function(cell.function, profile);
    if (!cell.counts.empty() && cell.counts.back().block >= profile.blocks.size()) {
      refuse_counts();
    }
  }
  for (const NamedProfile::Stack& stack : profile.stacks) {
    check_step(stack.step, profile);
    if (stack.functions.empty()) {
      fail("a stack without functions");
    }
    for (const std::uint32_t function : stack.functions) {
      check_function(function, profile);
    }
  }
  std::uint64_t blocks = 0;
  for (const NamedProfile::Run& run : profile.runs) {
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
void describe(Fields& fields, Described<Fields, NamedProfile::CodeNames::Function>& value) {
  fields("name", value.name);
  fields("image", value.image);
  fields.unless_empty("build_id", value.build_id);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, NamedProfile::Cell>& value) {
  fields.known_if(value.step != kNoStep, "step", value.step, kCount);
  fields("function", value.function, kCount);
  fields.converted("counts", value.counts, counts_json, [](const auto& pairs, const char*) {
    return counts_from(pairs);
  });
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, NamedProfile::Stack>& value) {
  fields.known_if(value.step != kNoStep, "step", value.step, kCount);
  fields("functions", value.functions, kCount);
  fields("samples", value.samples, kCount);
  fields.known_if(value.thread != 0, "thread", value.thread, kCount);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, NamedProfile::Run>& value) {
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
      std::vector<NamedProfile::Listing>{});
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
