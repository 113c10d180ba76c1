// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/profile_json.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/analysis/profile/profile_summary.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::analysis {
namespace {

using results::JsonObject;

constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::int64_t kMaxCount = 4'000'000'000;

Json interval_json(const std::optional<NumberInterval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}

Json steps_json(const results::NamedProfile& profile) {
  Json steps = Json::array();
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const results::ProfiledStep& step = profile.steps[i];
    steps.push_back({{"name", profile.step_names[i]},
                     {"layers", step.layers},
                     {"key", step.key},
                     {"variant", step.variant},
                     {"reorder", step.reorder}});
  }
  return steps;
}

Json blocks_json(const results::NamedProfile& profile) {
  Json blocks = Json::array();
  for (const results::ProfiledBlock& block : profile.blocks) {
    blocks.push_back({{"executions", block.executions},
                      {"sampled_seconds", block.sampled.count()},
                      {"unsampled_seconds", block.unsampled.count()}});
  }
  return blocks;
}

Json functions_json(const results::NamedProfile& profile) {
  const std::vector<ProfileShare> shares =
      compute_shares(GroupedSamples(profile, rows_of_functions(profile), profile.functions.size()));
  Json functions = Json::array();
  for (std::size_t i = 0; i < profile.functions.size(); ++i) {
    functions.push_back({{"name", profile.functions[i].name},
                         {"image", profile.functions[i].image},
                         {"samples", shares[i].samples},
                         {"share", shares[i].share},
                         {"interval", interval_json(shares[i].interval)}});
  }
  return functions;
}

Json cells_json(const results::NamedProfile& profile) {
  const std::vector<ProfileShare> shares =
      compute_shares(GroupedSamples(profile, rows_of_cells(profile), profile.cells.size()));
  Json cells = Json::array();
  for (std::size_t i = 0; i < profile.cells.size(); ++i) {
    const results::ProfileCell& cell = profile.cells[i];
    Json counts = Json::array();
    for (const results::ProfileCell::Count& count : cell.counts) {
      counts.push_back({count.block, count.samples});
    }
    cells.push_back({{"step", cell.step == results::kNoStep ? Json() : Json(cell.step)},
                     {"function", cell.function},
                     {"samples", shares[i].samples},
                     {"share", shares[i].share},
                     {"interval", interval_json(shares[i].interval)},
                     {"counts", std::move(counts)}});
  }
  return cells;
}

[[noreturn]] void fail(const std::string& what) {
  throw Error(Error::Kind::kUser, fmt::format("not a profile of this program: {}", what));
}

template <typename Number>
Number read_count(const JsonObject& object, const char* name, std::int64_t below = kMaxCount) {
  return static_cast<Number>(object.integer(name, 0, below - 1));
}

void read_steps(const JsonObject& document, results::NamedProfile& profile) {
  for (const nlohmann::json& entry : document.array("steps", kMaxEntries)) {
    const JsonObject object(entry);
    results::ProfiledStep step;
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
                 std::vector<results::ProfileCell::Count>& counts) {
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

void read_cells(const JsonObject& document, results::NamedProfile& profile) {
  for (const nlohmann::json& entry : document.array("cells", kMaxEntries)) {
    const JsonObject object(entry);
    results::ProfileCell cell;
    if (object.has("step")) {
      cell.step = read_count<std::uint32_t>(
          object, "step", static_cast<std::int64_t>(profile.steps.size()));
    }
    cell.function = read_count<std::uint32_t>(
        object, "function", static_cast<std::int64_t>(profile.functions.size()));
    read_counts(object, profile.blocks.size(), cell.counts);
    profile.cells.push_back(std::move(cell));
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

Json profile_document(const results::NamedProfile& profile) {
  const ProfileSummary summary = summarize_profile(profile);
  Json document = new_document();
  document.update({{"model", profile.model},
                   {"mode", profile.mode},
                   {"stack", profile.stack},
                   {"clock", std::string(results::to_text(profile.clock))},
                   {"refused", profile.refused},
                   {"asked_hertz", profile.asked_rate},
                   {"hertz", profile.rate},
                   {"threads", profile.threads},
                   {"lost_samples", profile.lost},
                   {"samples", summary.samples},
                   {"share_in_steps", summary.in_steps},
                   {"share_in_functions", summary.in_functions},
                   {"executions", summary.executions},
                   {"execution_seconds", summary.execution.count()},
                   {"cost", summary.cost},
                   {"cost_interval", interval_json(summary.cost_interval)},
                   {"cost_pairs", summary.pairs},
                   {"problems", profile.problems},
                   {"steps", steps_json(profile)},
                   {"functions", functions_json(profile)},
                   {"blocks", blocks_json(profile)},
                   {"cells", cells_json(profile)}});
  return document;
}

results::NamedProfile profile_from_json(std::string_view text) {
  const nlohmann::json parsed = results::parse_json(text);
  const JsonObject document(parsed);
  results::NamedProfile profile;
  profile.model = document.text("model");
  profile.mode = document.text("mode");
  profile.stack = document.text("stack");
  const auto clock = results::sampling_clock_from(document.text("clock"));
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
    profile.functions.push_back({object.text("name"), object.text("image")});
  }
  for (const nlohmann::json& entry : document.array("blocks", kMaxEntries)) {
    const JsonObject object(entry);
    profile.blocks.push_back({read_count<std::uint32_t>(object, "executions"),
                              read_time(object, "sampled_seconds"),
                              read_time(object, "unsampled_seconds")});
  }
  read_cells(document, profile);
  return profile;
}

Json profile_difference_document(const results::NamedProfile& baseline,
                                 const results::NamedProfile& candidate,
                                 const ProfileDifference& difference) {
  const auto side = [](const results::NamedProfile& profile) {
    return Json{{"mode", profile.mode}, {"stack", profile.stack}};
  };
  Json functions = Json::array();
  for (const FunctionChange& change : difference.functions) {
    functions.push_back({{"name", change.function.name},
                         {"image", change.function.image},
                         {"step", change.step},
                         {"baseline_seconds", change.baseline.count()},
                         {"candidate_seconds", change.candidate.count()},
                         {"change_seconds", change.change().count()},
                         {"interval", interval_json(change.interval)},
                         {"certain", change.is_certain()},
                         {"in_baseline", change.in_baseline},
                         {"in_candidate", change.in_candidate}});
  }
  Json document = new_document();
  document.update({{"model", baseline.model},
                   {"baseline", side(baseline)},
                   {"candidate", side(candidate)},
                   {"baseline_seconds", difference.baseline.count()},
                   {"candidate_seconds", difference.candidate.count()},
                   {"change_seconds", difference.change().count()},
                   {"interval", interval_json(difference.interval)},
                   {"unexplained_seconds", difference.unexplained().count()},
                   {"functions", std::move(functions)}});
  return document;
}

}  // namespace plumb::analysis
