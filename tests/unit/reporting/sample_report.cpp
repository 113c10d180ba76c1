// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/reporting/sample_report.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

namespace plumb::reporting {

const std::string kHostileName =
    "</script><script>alert(1)</script>-->]]>\"'|`*_[x](y)&\\@all"
    "\xe2\x80\xa8"      // U+2028, a line separator
    "\xff\xc3("         // not UTF-8
    "\xed\xa0\x80"      // a surrogate
    "\xef\xbf\xbe"      // U+FFFE, no character of XML
    "\x1b[31m\x01\n\t"  // control characters
    "@@DATA@@";

namespace {

const std::string kConv =
    "v1:conv;in=f32[1,8,14,14],f32[16,8,3,3]c;out=f32[1,16,14,14];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";
const std::string kRelu =
    "v1:eltwise;in=f32[1,16,14,14];out=f32[1,16,14,14];acc=f32;math=strict;fn=relu;parameters=[]";
const std::string kProduct =
    "v1:matmul;in=f32[1,3136],f32[3136,10]c;out=f32[1,10];acc=f32;math=strict";

const Timestamp kStarted = parse_timestamp("2026-01-02T03:04:05Z");

model::Layer layer(const std::string& name, const std::string& op, model::ValueId input) {
  model::Layer result;
  result.name = name;
  result.onnx_op = op;
  result.inputs = {input};
  result.outputs = {input + 1};
  return result;
}

model::Layer compute(const std::string& name,
                     const std::string& op,
                     const std::string& key,
                     model::ValueId input) {
  model::Layer result = layer(name, op, input);
  result.key = {key};
  result.spec = model::parse_key(result.key);
  result.cost = model::compute_cost(result.spec);
  return result;
}

model::Value value(const std::string& name,
                   const std::vector<std::int64_t>& dims,
                   std::optional<model::LayerId> producer) {
  model::Value result;
  result.name = name;
  result.type.dims = dims;
  result.producer = producer;
  return result;
}

model::Graph sample_graph() {
  model::Graph graph;
  graph.name = "tiny";
  graph.opset = 17;
  graph.values = {value("x", {1, 8, 14, 14}, std::nullopt),
                  value("a", {1, 16, 14, 14}, 0),
                  value("b", {1, 16, 14, 14}, 1),
                  value("c", {1, 3136}, 2),
                  value("y", {1, 10}, 3)};
  graph.layers = {compute("conv1", "Conv", kConv, 0),
                  compute("relu1", "Relu", kRelu, 1),
                  layer("flat", "Flatten", 2),
                  compute("product", "MatMul", kProduct, 3)};
  graph.layers[2].role = model::Layer::Role::kView;
  graph.inputs = {0};
  graph.outputs = {4};
  graph.parameters = 1152 + 31360;
  graph.weight_bytes = Bytes{4 * (1152 + 31360)};
  return graph;
}

analysis::KeyTime key_time(double milliseconds) {
  analysis::KeyTime result;
  result.time.n = 30;
  result.time.median = Seconds(milliseconds * 1e-3);
  result.time.interval = {result.time.median * 0.99, result.time.median * 1.01};
  result.raw = result.time;
  result.variant = "impl=fast;layout=any";
  result.measured = kStarted;
  return result;
}

analysis::Bound bound(results::BoundKind kind, const std::string& mode, double milliseconds) {
  analysis::Bound result;
  result.kind = kind;
  result.mode = mode;
  result.seconds = Seconds(milliseconds * 1e-3);
  result.interval = {result.seconds * 0.99, result.seconds * 1.01};
  result.complete = true;
  result.oldest_row = kStarted;
  return result;
}

analysis::ModelBounds sample_bounds(const model::Graph& graph) {
  analysis::ModelBounds bounds;
  bounds.instance = {"tiny", 1, "f32"};
  bounds.measured_layers = 4;
  bounds.total_layers = 4;
  bounds.bounds = {bound(results::BoundKind::kHardware, "any", 0.25),
                   bound(results::BoundKind::kLibrary, "plain", 3.5),
                   bound(results::BoundKind::kLibrary, "fusion", 3.5),
                   bound(results::BoundKind::kLibraryParallel, "fusion", 3.5),
                   bound(results::BoundKind::kPredicted, "plain", 4.0)};
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    analysis::PartitionStep step;
    step.layers = {id};
    step.key = graph.layers[id].key;
    step.critical = true;
    bounds.cover.push_back(step);
  }
  bounds.cover[0].time = key_time(2.0);
  bounds.cover[1].time = key_time(0.5);
  bounds.cover[3].time = key_time(1.0);
  bounds.critical_steps = {bounds.cover[0], bounds.cover[1], bounds.cover[3]};
  bounds.critical_path = {0, 1, 3};
  return bounds;
}

analysis::ModelWhatIfs sample_what_ifs() {
  analysis::WhatIfResult better;
  better.name = "best_variant";
  better.mode = "pick the fastest";
  better.baseline = Seconds(3.5e-3);
  better.predicted = Seconds(2.8e-3);
  better.predicted_interval = {Seconds(2.7e-3), Seconds(2.9e-3)};
  better.predicted_speedup = 1.25;
  better.execution_mode = "best_variant";
  better.realised_baseline = Seconds(5e-3);
  better.realised = Seconds(4.5e-3);
  better.realised_interval = {Seconds(4.4e-3), Seconds(4.6e-3)};
  better.realised_speedup = 5.0 / 4.5;
  better.baseline_interval = {Seconds(3.4e-3), Seconds(3.6e-3)};
  better.realised_baseline_interval = {Seconds(4.9e-3), Seconds(5.1e-3)};
  better.prediction_error = {.share = 0.04, .low = 0.0, .high = 0.08};
  better.layers = {{"conv1", {kConv}, Seconds(2e-3), Seconds(1.3e-3), "direct → winograd"}};
  analysis::WhatIfResult unknown;
  unknown.name = "bf16";
  unknown.mode = "bf16 everywhere";
  unknown.execution_mode = "bf16";
  unknown.baseline = Seconds(3.5e-3);
  unknown.why_not = "no bf16 rows in this run";
  return {{"tiny", 1, "f32"}, {better, unknown}};
}

}  // namespace

analysis::RunReport sample_report() {
  analysis::RunReport report;
  results::RunHeader& header = report.run.header;
  header.id = "01JFKD2M4N5P6Q7R8S9T0VWXYZ";
  header.suite = "sample";
  header.suite_hash = "ab12";
  header.backend = "fake";
  header.stack = "default";
  header.environment.identity = {{"cpu.model", "Sample CPU"}};
  header.environment.facts = {{"kernel", "6.1"}};
  header.started = kStarted;
  report.run.state = results::RunState::kFinished;
  report.run.finished = kStarted + std::chrono::minutes(2);
  report.run.rows_ok = 3;
  report.now = kStarted + std::chrono::hours(24);
  analysis::RunReport::Model model;
  model.graph = sample_graph();
  model.bounds = sample_bounds(model.graph);
  model.bounds.executions.push_back({.mode = "plain",
                                     .scenario = loadgen::ScenarioName::kSingleStream,
                                     .outcome = {},
                                     .median = Seconds(0.005),
                                     .interval = {Seconds(0.0049), Seconds(0.0051)},
                                     .p90 = Seconds(0.0052),
                                     .p99 = Seconds(0.0053),
                                     .samples = 31,
                                     .process_logs = {},
                                     .disturbed = false,
                                     .memory = Bytes{4096},
                                     .reorders = 2,
                                     .output_hash = "",
                                     .maximum_error = {},
                                     .differences = {}});
  model.whatifs = sample_what_ifs();
  report.models.push_back(model);
  report.calibration.emplace();
  report.calibration->peak_f32 = FlopsPerSecond{1e11};
  report.calibration->memory_bandwidth = BytesPerSecond{1e10};
  return report;
}

analysis::RunReport hostile_report() {
  analysis::RunReport report = sample_report();
  report.run.header.suite = kHostileName;
  report.run.header.stack = kHostileName;
  report.run.header.environment.facts[kHostileName] = kHostileName;
  report.run.rows_failed = 1;
  analysis::RunReport::Model& model = report.models.front();
  model.bounds.instance.model = model.whatifs.instance.model = model.note = kHostileName;
  for (model::Layer& layer : model.graph.layers) {
    layer.name = kHostileName;
  }
  for (analysis::WhatIfResult& result : model.whatifs.whatifs) {
    result.mode = kHostileName;
  }
  model.whatifs.whatifs[0].layers[0].layer = kHostileName;
  model.bounds.findings = {kHostileName};
  model.bounds.measured_layers = 2;
  model.bounds.unsupported = {{kHostileName, kRelu, "not measured"},
                              {kHostileName, kProduct, "crashed: " + kHostileName}};
  for (analysis::Bound& each : model.bounds.bounds) {
    each.complete = false;
  }
  model.bounds.cover[1].time.reset();
  model.bounds.cover[3].time.reset();
  results::StoredMeasurement crashed;
  crashed.run = report.run.header.id;
  crashed.measurement.key = {kProduct};
  crashed.measurement.variant = kHostileName;
  crashed.measurement.outcome = {results::Outcome::Kind::kCrashed, kHostileName};
  report.rows.push_back(crashed);
  return report;
}

std::string written(const analysis::RunReport& report, const std::string& extension) {
  std::ostringstream out;
  format_for(report_formats(), "report" + extension).write(report, out);
  return out.str();
}

bool is_clean_utf8(const std::string& text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20U && c != '\n' && c != '\t') {
      return false;
    }
  }
  try {
    static_cast<void>(nlohmann::json(text).dump());  // throws for anything but UTF-8
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

SuiteMetrics suite_of(analysis::RunReport report) {
  SuiteMetrics suite;
  suite.series = analysis::run_series_of(report.run.header);
  suite.device = device_name(report.run.header.environment);
  suite.newest = std::make_shared<const RunMetrics>(run_metrics(std::move(report), 2));
  return suite;
}

std::string data_of(const std::string& page) {
  const std::string tag = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(tag) + tag.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

}  // namespace plumb::reporting
