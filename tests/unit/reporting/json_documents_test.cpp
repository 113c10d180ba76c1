// SPDX-License-Identifier: Apache-2.0
// Other programs read these documents: their field names are fixed.
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reporting/content/run/documents.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using nlohmann::json;
using ::testing::IsSupersetOf;

template <typename Write>
json document(const Write& write) {
  std::ostringstream out;
  write(out);
  json parsed = json::parse(out.str());
  EXPECT_EQ(parsed["schema_version"], 1);
  return parsed;
}

json bound_document(const analysis::RunReport& report) {
  return document([&](std::ostream& out) { write_bounds(report, OutputMode::kJson, out); });
}

std::vector<std::string> names(const json& object) {
  std::vector<std::string> result;
  for (const auto& [name, value] : object.items()) {
    result.push_back(name);
  }
  return result;
}

void expect_fields(const json& object, const std::vector<std::string>& fields) {
  EXPECT_THAT(names(object), IsSupersetOf(fields));
}

TEST(JsonDocuments, bound_has_the_fields_of_the_contract) {
  const json whole = bound_document(sample_report());
  expect_fields(whole, {"schema_version", "run", "environment", "environments", "models"});
  const std::string id = whole["environment"];
  EXPECT_THAT(id, ::testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(whole["environments"][id]["facts"]["kernel"], "6.1");
  const json& model = whole["models"][0];
  expect_fields(model,
                {"model",
                 "batch",
                 "dtype",
                 "dims",
                 "measured_layers",
                 "total_layers",
                 "unsupported",
                 "bounds",
                 "executions",
                 "critical_path"});
  const json& bound = model["bounds"][0];
  expect_fields(bound,
                {"kind", "mode", "seconds", "low", "high", "complete", "oldest_row_seconds"});
  EXPECT_EQ(bound["kind"], "hardware");
  EXPECT_DOUBLE_EQ(bound["seconds"], 0.25e-3);
  EXPECT_DOUBLE_EQ(bound["oldest_row_seconds"], 86400.0);
  EXPECT_EQ(model["critical_path"].size(), 3U);
  EXPECT_DOUBLE_EQ(model["critical_path"][0]["seconds"], 2e-3);
}

TEST(JsonDocuments, a_single_time_among_other_shapes_has_no_interval) {
  analysis::RunReport report = sample_report();
  EXPECT_FALSE(bound_document(report)["models"][0].contains("alternations"));
  std::vector<analysis::ExecutionTime>& alternations = report.models[0].bounds.alternations;
  for (const std::size_t samples : {0U, 1U, 2U}) {
    alternations.push_back(report.models[0].bounds.executions[0]);
    alternations.back().turn = results::SeriesName::Turn::kFirst;
    alternations.back().samples = samples;
  }
  const json rows = bound_document(report)["models"][0]["alternations"];
  EXPECT_TRUE(rows[0]["median_seconds"].is_null());
  EXPECT_DOUBLE_EQ(rows[1]["median_seconds"], 0.005);
  EXPECT_TRUE(rows[1]["low"].is_null());
  EXPECT_TRUE(rows[1]["high"].is_null());
  EXPECT_DOUBLE_EQ(rows[2]["low"], 0.0049);
  EXPECT_DOUBLE_EQ(rows[2]["high"], 0.0051);
}

TEST(JsonDocuments, bound_tells_unknown_from_zero) {
  analysis::RunReport report = hostile_report();
  analysis::Bound& bound = report.models[0].bounds.bounds[1];
  bound.oldest_row.reset();
  bound.seconds = Seconds(0);
  bound.interval = {};
  const json model = bound_document(report)["models"][0];
  EXPECT_FALSE(model["bounds"][1]["complete"]);
  EXPECT_TRUE(model["bounds"][1]["seconds"].is_null());
  EXPECT_TRUE(model["bounds"][1]["low"].is_null());
  EXPECT_TRUE(model["bounds"][1]["oldest_row_seconds"].is_null());
  EXPECT_DOUBLE_EQ(model["bounds"][2]["seconds"], 3.5e-3) << "a part of the sum stays visible";
  EXPECT_EQ(model["measured_layers"], 2);
  EXPECT_EQ(model["unsupported"].size(), 2U);
  expect_fields(model["unsupported"][0], {"layer", "key", "reason"});
}

TEST(JsonDocuments, whatif_has_the_fields_of_the_contract) {
  const json whole =
      document([](std::ostream& out) { write_what_ifs(sample_report(), OutputMode::kJson, out); });
  const json& model = whole["models"][0];
  expect_fields(model, {"model", "batch", "dtype", "dims", "whatifs"});
  const std::vector<std::string> fields{"name",
                                        "mode",
                                        "predicted_seconds",
                                        "predicted_speedup",
                                        "realised_seconds",
                                        "realised_speedup",
                                        "prediction_error",
                                        "layers",
                                        "prerequisites"};
  expect_fields(model["whatifs"][0], fields);
  expect_fields(model["whatifs"][1], fields);
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["predicted_speedup"], 1.25);
  EXPECT_FALSE(model["whatifs"][0].contains("why_not"));
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["realised_seconds"], 4.5e-3);
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["realised_speedup"], 5.0 / 4.5);
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["prediction_error"], 0.04);
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["prediction_error_low"], 0.0);
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["prediction_error_high"], 0.08);
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["baseline_low"], 3.4e-3);
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["high"], 2.9e-3);
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["realised_baseline_high"], 5.1e-3);
  EXPECT_DOUBLE_EQ(model["whatifs"][0]["realised_low"], 4.4e-3);
  EXPECT_FALSE(model["whatifs"][1].contains("prediction_error_low"));
  EXPECT_TRUE(model["whatifs"][1]["realised_seconds"].is_null());
  EXPECT_TRUE(model["whatifs"][1]["predicted_seconds"].is_null());
  EXPECT_EQ(model["whatifs"][1]["why_not"], "no bf16 rows in this run");
}

TEST(JsonDocuments, model_show_has_the_fields_of_the_contract) {
  const model::Graph graph = sample_report().models[0].graph;
  const json whole =
      document([&](std::ostream& out) { write_model(graph, OutputMode::kJson, out); });
  expect_fields(whole,
                {"name",
                 "opset",
                 "inputs",
                 "layers",
                 "unique_layers",
                 "macs",
                 "parameters",
                 "weight_bytes",
                 "ops",
                 "layer_list"});
  EXPECT_EQ(whole["inputs"], json::parse(R"([{"name":"x","shape":[1,8,14,14],"dtype":"f32"}])"));
  EXPECT_EQ(whole["layers"], 4);
  EXPECT_EQ(whole["macs"], 14 * 14 * 16 * 8 * 9 + 3136 * 10);
  EXPECT_EQ(whole["ops"]["Conv"], 1);
  EXPECT_EQ(whole["weight_bytes"], 4 * (1152 + 31360));
  const json& layer = whole["layer_list"][0];
  expect_fields(layer, {"name", "op", "key", "macs", "bytes", "input_shapes", "output_shapes"});
  EXPECT_EQ(layer["output_shapes"], json::parse("[[1,16,14,14]]"));
}

TEST(JsonDocuments, model_show_tells_unknown_from_empty) {
  model::Graph graph = sample_report().models[0].graph;
  graph.values[graph.inputs.at(0)].type_known = false;
  graph.values[graph.inputs.at(0)].shape_known = false;
  graph.layers.at(0).role = model::Layer::Role::kFolded;
  graph.layers.at(1).cost.macs = std::numeric_limits<std::int64_t>::max();
  graph.layers.at(2).cost.macs = 1;
  const json whole =
      document([&](std::ostream& out) { write_model(graph, OutputMode::kJson, out); });
  EXPECT_EQ(whole["inputs"], json::parse(R"([{"name":"x","shape":null,"dtype":null}])"));
  EXPECT_TRUE(whole["layer_list"][0]["input_shapes"][0].is_null());
  EXPECT_EQ(whole["layers"], 4);
  EXPECT_EQ(whole["folded_layers"], 1);
  EXPECT_EQ(whole["live_layers"], 3);
  EXPECT_EQ(whole["macs"], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole["macs_saturated"], true);
  std::ostringstream text;
  write_model(graph, OutputMode::kText, text);
  EXPECT_THAT(text.str(), testing::HasSubstr("4 layers (3 live, 1 folded)"));
  EXPECT_THAT(text.str(), testing::HasSubstr("more than 9223372 TMACs"));
  EXPECT_THAT(text.str(), testing::HasSubstr("input  x ?[?]"));
}

TEST(JsonDocuments, runs_has_the_fields_of_the_contract) {
  const std::vector<results::RunRecord> runs{sample_report().run};
  const json whole = document([&](std::ostream& out) { write_runs(runs, OutputMode::kJson, out); });
  const json& run = whole["runs"][0];
  expect_fields(
      run, {"run", "suite", "suite_hash", "environment", "started", "finished", "state", "rows"});
  EXPECT_EQ(run["started"], "2026-01-02T03:04:05.000000Z");
  EXPECT_EQ(run["state"], "finished");
  EXPECT_EQ(run["rows"], json::parse(R"({"ok":3,"failed":0,"reused":0})"));
  EXPECT_TRUE(whole["environments"].contains(run["environment"].get<std::string>()));
  results::RunRecord running = runs[0];
  running.finished.reset();
  const json unfinished = document([&](std::ostream& out) {
    write_runs(std::vector<results::RunRecord>{running}, OutputMode::kJson, out);
  });
  EXPECT_TRUE(unfinished["runs"][0]["finished"].is_null());
}

TEST(JsonDocuments, stay_json_whatever_the_names) {
  const json whole = json::parse(written(hostile_report(), ".json"));
  EXPECT_EQ(whole["models"][0]["measured_layers"], 2);
  EXPECT_EQ(whole["whatifs"][0]["whatifs"].size(), 2U);
  EXPECT_EQ(written(hostile_report(), ".json"), written(hostile_report(), ".json"));
}

}  // namespace
}  // namespace plumb::reporting
