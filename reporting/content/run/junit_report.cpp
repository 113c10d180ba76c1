// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <ostream>
#include <string>

#include "harness/loadgen/mlperf/mlperf_words.hpp"
#include "reporting/content/run/load_rows.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/document/escape_xml.hpp"

namespace plumb {
namespace {

/// Returns the first outcome without a time that is stored for each key. Skipped rows do not count.
std::map<std::string, Outcome> failed_keys(const RunReport& report) {
  std::map<std::string, Outcome> failed;
  for (const StoredMeasurement& row : report.rows) {
    const Outcome& outcome = row.measurement.outcome;
    if (!outcome.timed() && outcome.kind != Outcome::Kind::kSkipped) {
      failed.try_emplace(row.measurement.key.text, outcome);
    }
  }
  return failed;
}

bool is_error(Outcome::Kind kind) {
  return kind == Outcome::Kind::kWrongResult || kind == Outcome::Kind::kCrashed ||
         kind == Outcome::Kind::kTimedOut;
}

struct Counts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
  double seconds = 0.0;
};

std::string test_case(const ModelReport& model,
                      const PartitionStep& step,
                      const std::map<std::string, Outcome>& failed,
                      Counts& counts) {
  const Layer& layer = model.graph.layers[step.layers.front()];
  const std::string name = escape_xml(layer.name.empty() ? layer.onnx_op : layer.name);
  const std::string head = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\"", escape_xml(model.bounds.instance.model), name);
  const std::string key =
      fmt::format("      <properties><property name=\"key\" value=\"{}\"/></properties>\n",
                  escape_xml(step.key.text));
  ++counts.tests;
  const bool free = layer.role != Layer::Role::kCompute && step.rewrite.empty();
  if (free && layer.role != Layer::Role::kUnsupported) {
    return head + " time=\"0\"/>\n";
  }
  if (step.time) {
    counts.seconds += step.time->time.median.count();
    return fmt::format(
        "{} time=\"{:.9f}\">\n{}    </testcase>\n", head, step.time->time.median.count(), key);
  }
  const auto place = failed.find(step.key.text);
  const bool known = place != failed.end();
  const bool error = known && is_error(place->second.kind);
  ++(error ? counts.errors : counts.skipped);
  const std::string reason =
      known ? fmt::format("{}: {}", to_text(place->second.kind), place->second.reason)
      : layer.reason.empty() ? std::string("not measured")
                             : layer.reason;
  return fmt::format("{}>\n{}      <{} message=\"{}\"/>\n    </testcase>\n",
                     head,
                     key,
                     error ? "error" : "skipped",
                     escape_xml(reason));
}

/// Returns a scenario as a test case. Invalid is a failure. Not executed is an error, or skipped if
/// it was refused.
std::string load_case(const ModelReport& model, const ScenarioResult& load, Counts& counts) {
  const LoadVerdict verdict = verdict_of(load);
  ++counts.tests;
  const std::string head = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.9f}\">\n      <properties><property "
      "name=\"score\" value=\"{}\"/></properties>\n",
      escape_xml(model.bounds.instance.model),
      escape_xml(fmt::format("scenario {} ({})", load.scenario, load.mode)),
      load.wall.count(),
      escape_xml(score_text(load)));
  if (verdict == LoadVerdict::kValid) {
    return head + "    </testcase>\n";
  }
  std::string_view element = "failure";
  if (verdict == LoadVerdict::kNotExecuted) {
    const bool refused = load.outcome.kind == Outcome::Kind::kUnsupported;
    element = refused ? "skipped" : "error";
    ++(refused ? counts.skipped : counts.errors);
  } else {
    ++counts.failures;
  }
  return fmt::format(
      "{}      <{} message=\"{}\"/>\n    </testcase>\n",
      head,
      element,
      escape_xml(fmt::format("{}: {}", verdict_text(load), fmt::join(reasons_of(load), "; "))));
}

/// Returns one test suite of all layers that the suite lists by themselves.
std::string single_layers(const RunReport& report, const std::map<std::string, Outcome>& failed) {
  Counts counts;
  std::string cases;
  for (const SingleLayerResult& result : report.layers) {
    ++counts.tests;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"",
                         escape_xml(result.layer.file),
                         escape_xml(result.layer.key.text));
    if (result.time) {
      counts.seconds += result.time->time.median.count();
      cases += fmt::format(" time=\"{:.9f}\"/>\n", result.time->time.median.count());
      continue;
    }
    const auto place = failed.find(result.layer.key.text);
    const bool error = place != failed.end() && is_error(place->second.kind);
    ++(error ? counts.errors : counts.skipped);
    cases += fmt::format("><{} message=\"{}\"/></testcase>\n",
                         error ? "error" : "skipped",
                         escape_xml(result.reason));
  }
  return fmt::format(
      "  <testsuite name=\"single layers\" tests=\"{}\" failures=\"0\" errors=\"{}\" "
      "skipped=\"{}\" time=\"{:.9f}\" timestamp=\"{}\">\n{}  </testsuite>\n",
      counts.tests,
      counts.errors,
      counts.skipped,
      counts.seconds,
      to_text(report.run.header.started).substr(0, 19),
      cases);
}

std::string property(const std::string& name, const std::string& value) {
  return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, value);
}

}  // namespace

void write_junit_report(const RunReport& report, std::ostream& out) {
  const std::map<std::string, Outcome> failed = failed_keys(report);
  out << fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\">\n",
                     escape_xml(report.run.header.suite));
  for (const ModelReport& model : report.models) {
    Counts counts;
    std::string cases;
    for (const PartitionStep& step : model.bounds.cover) {
      cases += test_case(model, step, failed, counts);
    }
    for (const ScenarioResult& load : model.bounds.loads) {
      cases += load_case(model, load, counts);
    }
    out << fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
        "skipped=\"{}\" time=\"{:.9f}\" timestamp=\"{}\">\n    <properties>\n",
        escape_xml(to_text(model.bounds.instance, " ")),
        counts.tests,
        counts.failures,
        counts.errors,
        counts.skipped,
        counts.seconds,
        to_text(report.run.header.started).substr(0, 19));
    for (const Bound& bound : model.bounds.bounds) {
      const std::string name = escape_xml(bound.kind + "." + bound.mode);
      if (const std::optional<Seconds> time = known_time(bound)) {
        out << property(name + ".seconds", fmt::format("{:.9f}", time->count()));
      }
      out << property(name + ".complete", bound.complete ? "true" : "false");
    }
    if (!model.bounds.loads.empty()) {
      out << property("mlperf.notice", escape_xml(std::string(kMlperfUnverified)));
    }
    out << property("layers.measured", std::to_string(model.bounds.measured_layers));
    out << property("layers.total", std::to_string(model.bounds.total_layers));
    out << "    </properties>\n" << cases << "  </testsuite>\n";
  }
  if (!report.layers.empty()) {
    out << single_layers(report, failed);
  }
  out << "</testsuites>\n";
}

}  // namespace plumb
