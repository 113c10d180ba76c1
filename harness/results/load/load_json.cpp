// SPDX-License-Identifier: Apache-2.0
// Writes the result of a scenario as JSON, and reads it.
#include "harness/base/error.hpp"
#include "harness/results/disturbance_json.hpp"
#include "harness/results/load/load_fields.hpp"
#include "harness/results/load/load_result_json.hpp"
#include "harness/results/load/load_settings_json.hpp"
#include "harness/results/scenario_result.hpp"

namespace plumb::results {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxBuckets = 10'000;

Json batcher_value(const ScenarioResult& load) {
  Json buckets = Json::array();
  for (const loadgen::BucketUse& use : load.buckets) {
    buckets.push_back({{"bucket", use.bucket}, {"batches", use.batches}, {"samples", use.samples}});
  }
  return {{"direct", load.direct},
          {"maximum_batch", load.batches.maximum_batch},
          {"timeout_seconds", seconds_value(load.batches.timeout)},
          {"lanes", load.batches.lanes},
          {"buckets", std::move(buckets)}};
}

void read_batcher(const JsonObject& object, ScenarioResult& load) {
  load.direct = object.boolean("direct");
  load.batches.maximum_batch = count(object, "maximum_batch");
  load.batches.timeout = nanoseconds(object, "timeout_seconds");
  load.batches.lanes = count(object, "lanes");
  for (const Json& entry : object.array("buckets", kMaxBuckets)) {
    const JsonObject use(entry);
    load.buckets.push_back({count(use, "bucket"), count(use, "batches"), count(use, "samples")});
  }
}

}  // namespace

std::string to_json(const ScenarioResult& load) {
  const std::optional<LoadScore> score = compute_score(load);
  return Json{
      {"mode", load.mode},
      {"model", load.model},
      {"scenario", load.scenario},
      {"outcome", to_text(load.outcome.kind)},
      {"reason", load.outcome.reason},
      {"verdict", to_text(judge_load(load))},
      {"score",
       score ? Json{{"name", score->name}, {"unit", score->unit}, {"value", or_null(score->value)}}
             : Json()},
      {"requested", to_value(load.requested)},
      {"result", load.result ? to_value(*load.result) : Json()},
      {"peak", load.peak ? to_value(*load.peak) : Json()},
      {"agreement",
       load.agreement ? Json{{"samples", load.agreement->samples},
                             {"maximum_difference", load.agreement->maximum_difference}}
                      : Json()},
      {"accuracy", load.accuracy ? to_value(*load.accuracy) : Json()},
      {"batcher", batcher_value(load)},
      {"inputs_per_sample", load.inputs_per_sample},
      {"copies_counted", true},
      {"memory_bytes", load.memory.value},
      {"reorders", load.reorders},
      {"floor_seconds", load.floor.count()},
      {"preparation_seconds", load.preparation.count()},
      {"disturbance", disturbance_json(load.disturbance)},
      {"started", plumb::to_text(load.started)},
      {"wall_seconds", load.wall.count()},
      {"process", load.process}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

ScenarioResult scenario_result_from_json(std::string_view text) {
  const Json value = parse_json(text);
  const JsonObject object(value);
  ScenarioResult load;
  load.mode = object.text("mode");
  load.model = object.text("model");
  load.scenario = object.text("scenario");
  const auto outcome = parse_outcome_kind(object.text("outcome"));
  if (!outcome) {
    throw Error(Error::Kind::kUser, "field 'outcome' has an unknown value");
  }
  load.outcome = {*outcome, object.text("reason")};
  load.requested = requested_from(object.object("requested"));
  if (object.has("result")) {
    load.result = result_from(object.object("result"));
  }
  if (object.has("peak")) {
    load.peak = peak_from(object.object("peak"));
  }
  if (object.has("agreement")) {
    const JsonObject agreement = object.object("agreement");
    load.agreement = {count(agreement, "samples"), agreement.number("maximum_difference")};
  }
  if (object.has("accuracy")) {
    load.accuracy = result_from(object.object("accuracy"));
  }
  read_batcher(object.object("batcher"), load);
  load.inputs_per_sample = object.integer("inputs_per_sample", 1, JsonObject::kHighest);
  load.memory.value = object.integer("memory_bytes", 0, JsonObject::kHighest);
  load.reorders = object.integer("reorders", 0, JsonObject::kHighest);
  load.floor = object.seconds("floor_seconds");
  load.preparation = object.seconds("preparation_seconds");
  load.disturbance = disturbance_from(object.object("disturbance"));
  load.started = object.time("started");
  load.wall = object.seconds("wall_seconds");
  load.process = object.integer("process", 0, JsonObject::kHighest);
  return load;
}

}  // namespace plumb::results