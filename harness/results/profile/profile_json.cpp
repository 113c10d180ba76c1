// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/profile_json.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/profile/listing_json.hpp"

namespace plumb::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::int64_t kMaxCount = 4'000'000'000;

Json steps_json(const NamedProfile& profile) {
  Json steps = Json::array();
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const ProfiledStep& step = profile.steps[i];
    steps.push_back({{"name", profile.step_names[i]},
                     {"layers", step.layers},
                     {"key", step.key},
                     {"variant", step.variant},
                     {"reorder", step.reorder}});
  }
  return steps;
}

Json blocks_json(const NamedProfile& profile) {
  Json blocks = Json::array();
  for (const ProfiledBlock& block : profile.blocks) {
    blocks.push_back({{"executions", block.executions},
                      {"sampled_seconds", block.sampled.count()},
                      {"unsampled_seconds", block.unsampled.count()}});
  }
  return blocks;
}

Json functions_json(const NamedProfile& profile) {
  Json functions = Json::array();
  for (const ProfiledFunction& function : profile.functions) {
    functions.push_back({{"name", function.name}, {"image", function.image}});
    if (!function.build_id.empty()) {
      functions.back()["build_id"] = function.build_id;
    }
  }
  return functions;
}

Json step_json(std::uint32_t step) {
  return step == kNoStep ? Json() : Json(step);
}

Json cells_json(const NamedProfile& profile) {
  Json cells = Json::array();
  for (const ProfileCell& cell : profile.cells) {
    Json counts = Json::array();
    for (const ProfileCell::Count& count : cell.counts) {
      counts.push_back({count.block, count.samples});
    }
    cells.push_back({{"step", step_json(cell.step)},
                     {"function", cell.function},
                     {"counts", std::move(counts)}});
  }
  return cells;
}

Json stacks_json(const NamedProfile& profile) {
  Json stacks = Json::array();
  for (const ProfiledStack& stack : profile.stacks) {
    stacks.push_back({{"step", step_json(stack.step)},
                      {"functions", stack.functions},
                      {"samples", stack.samples}});
  }
  return stacks;
}

Json runs_json(const NamedProfile& profile) {
  Json runs = Json::array();
  for (const MergedRun& run : profile.runs) {
    runs.push_back({{"run", run.run},
                    {"started", plumb::to_text(run.started)},
                    {"environment", run.environment},
                    {"blocks", run.blocks}});
  }
  return runs;
}

[[noreturn]] void fail(const std::string& what) {
  throw Error(Error::Kind::kUser, fmt::format("not a profile of this program: {}", what));
}

template <typename Number>
Number read_count(const JsonObject& object, const char* name, std::int64_t below = kMaxCount) {
  return static_cast<Number>(object.integer(name, 0, below - 1));
}

std::uint32_t read_step(const JsonObject& object, const NamedProfile& profile) {
  return read_count<std::uint32_t>(object, "step", static_cast<std::int64_t>(profile.steps.size()));
}

void read_steps(const JsonObject& document, NamedProfile& profile) {
  for (const nlohmann::json& entry : document.array("steps", kMaxEntries)) {
    const JsonObject object(entry);
    ProfiledStep step;
    for (const nlohmann::json& layer : object.array("layers", kMaxEntries)) {
      if (!layer.is_number_unsigned()) {
        fail("a layer that is not a number");
      }
      step.layers.push_back(layer.get<std::size_t>());
    }
    step.key = object.text("key");
    step.variant = object.text("variant");
    step.reorder = object.boolean("reorder");
    profile.steps.push_back(std::move(step));
    profile.step_names.push_back(object.text("name"));
  }
}

void read_counts(const JsonObject& object,
                 std::size_t blocks,
                 std::vector<ProfileCell::Count>& counts) {
  for (const nlohmann::json& pair : object.array("counts", kMaxEntries)) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
        !pair[1].is_number_unsigned() || pair[0].get<std::uint64_t>() >= blocks ||
        pair[1].get<std::uint64_t>() == 0 || pair[1].get<std::uint64_t>() > kMaxEntries) {
      fail("'counts' holds pairs of a block and its samples");
    }
    const auto block = pair[0].get<std::uint32_t>();
    if (!counts.empty() && counts.back().block >= block) {
      fail("'counts' is not in the order of the blocks");
    }
    counts.push_back({block, pair[1].get<std::uint32_t>()});
  }
}

void read_cells(const JsonObject& document, NamedProfile& profile) {
  for (const nlohmann::json& entry : document.array("cells", kMaxEntries)) {
    const JsonObject object(entry);
    ProfileCell cell;
    if (object.has("step")) {
      cell.step = read_step(object, profile);
    }
    cell.function = read_count<std::uint32_t>(
        object, "function", static_cast<std::int64_t>(profile.functions.size()));
    read_counts(object, profile.blocks.size(), cell.counts);
    profile.cells.push_back(std::move(cell));
  }
}

void read_stacks(const JsonObject& document, NamedProfile& profile) {
  if (!document.has("stacks")) {
    return;  // of an earlier version
  }
  for (const nlohmann::json& entry : document.array("stacks", kMaxEntries)) {
    const JsonObject object(entry);
    ProfiledStack stack;
    if (object.has("step")) {
      stack.step = read_step(object, profile);
    }
    for (const nlohmann::json& function : object.array("functions", kMaxEntries)) {
      if (!function.is_number_unsigned() ||
          function.get<std::uint64_t>() >= profile.functions.size()) {
        fail("a stack of a function that the profile has not");
      }
      stack.functions.push_back(function.get<std::uint32_t>());
    }
    if (stack.functions.empty()) {
      fail("a stack without functions");
    }
    stack.samples = read_count<std::uint64_t>(object, "samples");
    profile.stacks.push_back(std::move(stack));
  }
}

void read_runs(const JsonObject& document, NamedProfile& profile) {
  if (!document.has("runs")) {
    return;  // of an earlier version
  }
  std::uint64_t blocks = 0;
  for (const nlohmann::json& entry : document.array("runs", kMaxEntries)) {
    const JsonObject object(entry);
    profile.runs.push_back({object.text("run"),
                            object.time("started"),
                            object.text("environment"),
                            read_count<std::uint64_t>(object, "blocks")});
    blocks += profile.runs.back().blocks;
  }
  if (!profile.runs.empty() && blocks != profile.blocks.size()) {
    fail(fmt::format("its runs have {} blocks of {}", blocks, profile.blocks.size()));
  }
}

Seconds read_time(const JsonObject& object, const char* name) {
  const Seconds time = object.seconds(name);
  if (time < Seconds(0.0)) {
    fail(fmt::format("'{}' is negative", name));
  }
  return time;
}

}  // namespace

Json to_json(const NamedProfile& profile) {
  Json document{{"model", profile.model},
                {"mode", profile.mode},
                {"stack", profile.stack},
                {"clock", std::string(to_text(profile.clock))},
                {"refused", profile.refused},
                {"asked_hertz", profile.asked_rate},
                {"hertz", profile.rate},
                {"threads", profile.threads},
                {"lost_samples", profile.lost},
                {"problems", profile.problems},
                {"steps", steps_json(profile)},
                {"functions", functions_json(profile)},
                {"blocks", blocks_json(profile)},
                {"cells", cells_json(profile)},
                {"stacks", stacks_json(profile)},
                {"listings", to_json(profile.listings)}};
  if (!profile.runs.empty()) {
    document["runs"] = runs_json(profile);
  }
  return document;
}

NamedProfile named_profile_from_json(const nlohmann::json& value) {
  const JsonObject document(value);
  NamedProfile profile;
  profile.model = document.text("model");
  profile.mode = document.text("mode");
  profile.stack = document.text("stack");
  const auto clock = sampling_clock_from(document.text("clock"));
  if (!clock) {
    fail(fmt::format("there is no clock '{}'", document.text("clock")));
  }
  profile.clock = *clock;
  profile.refused = document.text("refused");
  profile.asked_rate = document.number("asked_hertz");
  profile.rate = document.number("hertz");
  profile.threads = read_count<std::uint64_t>(document, "threads");
  profile.lost = read_count<std::uint64_t>(document, "lost_samples");
  profile.problems = document.texts("problems", kMaxEntries);
  read_steps(document, profile);
  for (const nlohmann::json& entry : document.array("functions", kMaxEntries)) {
    const JsonObject object(entry);
    profile.functions.push_back(
        {object.text("name"), object.text("image"), object.text_or_empty("build_id")});
  }
  for (const nlohmann::json& entry : document.array("blocks", kMaxEntries)) {
    const JsonObject object(entry);
    profile.blocks.push_back({read_count<std::uint32_t>(object, "executions"),
                              read_time(object, "sampled_seconds"),
                              read_time(object, "unsampled_seconds")});
  }
  read_cells(document, profile);
  read_stacks(document, profile);
  read_runs(document, profile);
  if (document.has("listings")) {  // absent: of an earlier version
    profile.listings =
        code_listings_from_json(document.array("listings", kMaxListings), profile.blocks.size());
  }
  return profile;
}

}  // namespace plumb::results
