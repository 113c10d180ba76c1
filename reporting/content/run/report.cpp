// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/report.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "harness/results/series/series_name.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

void write_json_report(const analysis::RunReport& report, std::ostream& out) {
  analysis::Json document = analysis::bounds_document(report);
  document["whatifs"] = analysis::what_ifs_document(report)["models"];
  document["header"] = analysis::run_json(report.run);
  write_json(document, out);
}

constexpr std::array<ReportFormat, 6> kFormats{{
    {".html", "one page that opens offline", write_html_report},
    {".md", "Markdown", write_markdown_report},
    {".json", "JSON document", write_json_report},
    {".xml", "JUnit", write_junit_report},
    {".csv", "CSV of the layers", write_csv_report},
    {".txt", "text", write_text_report},
}};

}  // namespace

std::span<const ReportFormat> report_formats() {
  return kFormats;
}

namespace {

/// Returns the first outcome without a time that is stored for each key. Skipped rows do not count.
std::map<std::string, results::Outcome> failed_keys(const analysis::RunReport& report) {
  std::map<std::string, results::Outcome> failed;
  for (const results::StoredMeasurement& row : report.rows) {
    const results::Outcome& outcome = row.measurement.outcome;
    if (!outcome.timed() && outcome.kind != results::Outcome::Kind::kSkipped) {
      failed.try_emplace(row.measurement.key.text, outcome);
    }
  }
  return failed;
}

bool is_error(results::Outcome::Kind kind) {
  return kind == results::Outcome::Kind::kWrongResult || kind == results::Outcome::Kind::kCrashed ||
         kind == results::Outcome::Kind::kTimedOut;
}

struct Counts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
  double seconds = 0.0;
};

/// What test cases of a run need to know beside their own results.
struct Context {
  std::map<std::string, results::Outcome> failed;  ///< first outcome without a time of each key
  std::vector<results::Exclusion> exclusions;      ///< that hold on the day of the run
};

Context context_of(const analysis::RunReport& report) {
  Context context{failed_keys(report), report.exclusions};
  std::erase_if(context.exclusions,
                [day = analysis::day_of(report.run.header)](const results::Exclusion& each) {
                  return !each.holds_on(day);
                });
  return context;
}

/// Returns the element that skips the case of an excluded series. Empty: nothing excludes it.
std::string excluded_element(const Context& context,
                             const std::string& series,
                             const std::string& otherwise) {
  const results::Exclusion* const exclusion =
      results::find_exclusion(context.exclusions, results::case_names(series));
  return exclusion == nullptr
             ? std::string()
             : fmt::format("<skipped message=\"{}\"/>",
                           escape_xml(fmt::format("excluded by the suite: {}{}{}",
                                                  exclusion_text(*exclusion, false),
                                                  otherwise.empty() ? "" : "; ",
                                                  otherwise)));
}

std::string test_case(const analysis::RunReport::Model& model,
                      const analysis::PartitionStep& step,
                      const Context& context,
                      Counts& counts) {
  const model::Layer& layer = model.graph.layers[step.layers.front()];
  const std::string name = escape_xml(layer.name.empty() ? layer.onnx_op : layer.name);
  const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\"",
                                       escape_xml(full_name(model.bounds.instance)),
                                       name);
  const std::string key =
      fmt::format("      <properties><property name=\"key\" value=\"{}\"/></properties>\n",
                  escape_xml(step.key.text));
  ++counts.tests;
  const bool free = layer.role != model::Layer::Role::kCompute && step.rewrite.empty();
  if (free && layer.role != model::Layer::Role::kUnsupported) {
    return head + " time=\"0\"/>\n";
  }
  const std::string series = results::layer_series(step.key.text);
  if (step.time) {
    const std::string excluded = excluded_element(context, series, "");
    counts.skipped += excluded.empty() ? 0U : 1U;
    counts.seconds += step.time->time.median.count();
    return fmt::format("{} time=\"{:.9f}\">\n{}{}    </testcase>\n",
                       head,
                       step.time->time.median.count(),
                       key,
                       excluded.empty() ? "" : "      " + excluded + "\n");
  }
  const auto place = context.failed.find(step.key.text);
  const bool known = place != context.failed.end();
  const std::string reason =
      known ? fmt::format("{}: {}", to_text(place->second.kind), place->second.reason)
      : layer.reason.empty() ? std::string("not measured")
                             : layer.reason;
  if (const std::string excluded = excluded_element(context, series, reason); !excluded.empty()) {
    ++counts.skipped;
    return fmt::format("{}>\n{}      {}\n    </testcase>\n", head, key, excluded);
  }
  const bool error = known && is_error(place->second.kind);
  ++(error ? counts.errors : counts.skipped);
  return fmt::format("{}>\n{}      <{} message=\"{}\"/>\n    </testcase>\n",
                     head,
                     key,
                     error ? "error" : "skipped",
                     escape_xml(reason));
}

/// Returns a scenario as a test case. Invalid is a failure. Not executed is an error, or skipped if
/// it was refused.
std::string load_case(const analysis::RunReport::Model& model,
                      const results::ScenarioResult& load,
                      const Context& context,
                      Counts& counts) {
  const results::ScenarioResult::Verdict verdict = judge_load(load);
  ++counts.tests;
  const std::string head = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.9f}\">\n      <properties><property "
      "name=\"score\" value=\"{}\"/></properties>\n",
      escape_xml(model.bounds.instance.model),
      escape_xml(fmt::format("scenario {} ({})", to_text(load.scenario), load.mode)),
      load.wall.count(),
      escape_xml(score_text(load)));
  const std::string why =
      verdict == results::ScenarioResult::Verdict::kValid
          ? std::string()
          : fmt::format("{}: {}", verdict_text(load), fmt::join(results::list_reasons(load), "; "));
  const std::string series = results::model_series(analysis::subject_of(model.bounds.instance),
                                                   results::SeriesName::Kind::kLoad,
                                                   load.mode,
                                                   load.scenario);
  if (const std::string excluded = excluded_element(context, series, why); !excluded.empty()) {
    ++counts.skipped;
    return fmt::format("{}      {}\n    </testcase>\n", head, excluded);
  }
  if (verdict == results::ScenarioResult::Verdict::kValid) {
    return head + "    </testcase>\n";
  }
  std::string_view element = "failure";
  if (verdict == results::ScenarioResult::Verdict::kNotExecuted) {
    const bool refused = load.outcome.kind == results::Outcome::Kind::kUnsupported;
    element = refused ? "skipped" : "error";
    ++(refused ? counts.skipped : counts.errors);
  } else {
    ++counts.failures;
  }
  return fmt::format(
      "{}      <{} message=\"{}\"/>\n    </testcase>\n", head, element, escape_xml(why));
}

/// Returns one test suite of all layers that the suite lists by themselves.
std::string single_layers(const analysis::RunReport& report, const Context& context) {
  Counts counts;
  std::string cases;
  for (const analysis::SingleLayerResult& result : report.layers) {
    ++counts.tests;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"",
                         escape_xml(result.layer.file),
                         escape_xml(result.layer.key.text));
    if (result.time) {
      counts.seconds += result.time->time.median.count();
      cases += fmt::format(" time=\"{:.9f}\"", result.time->time.median.count());
    }
    if (const std::string excluded =
            excluded_element(context, results::layer_series(result.layer.key.text), result.reason);
        !excluded.empty()) {
      ++counts.skipped;
      cases += fmt::format(">{}</testcase>\n", excluded);
      continue;
    }
    if (result.time) {
      cases += "/>\n";
      continue;
    }
    const auto place = context.failed.find(result.layer.key.text);
    const bool error = place != context.failed.end() && is_error(place->second.kind);
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

/// Returns one test suite with a skipped case for each exclusion of the suite, the expired ones
/// too.
std::string exclusions(const analysis::RunReport& report) {
  const std::string day = analysis::day_of(report.run.header);
  std::string cases;
  for (const results::Exclusion& each : report.exclusions) {
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\"><skipped message=\"{}\"/></testcase>\n",
        escape_xml(report.run.header.suite),
        escape_xml(each.match),
        escape_xml(exclusion_text(each, !each.holds_on(day))));
  }
  return fmt::format(
      "  <testsuite name=\"excluded by the suite\" tests=\"{0}\" failures=\"0\" errors=\"0\" "
      "skipped=\"{0}\" time=\"0\" timestamp=\"{1}\">\n{2}  </testsuite>\n",
      report.exclusions.size(),
      to_text(report.run.header.started).substr(0, 19),
      cases);
}

std::string property(const std::string& name, const std::string& value) {
  return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, value);
}

}  // namespace

void write_junit_report(const analysis::RunReport& report, std::ostream& out) {
  const Context context = context_of(report);
  out << fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\">\n",
                     escape_xml(report.run.header.suite));
  for (const analysis::RunReport::Model& model : report.models) {
    Counts counts;
    std::string cases;
    for (const analysis::PartitionStep& step : model.bounds.cover) {
      cases += test_case(model, step, context, counts);
    }
    for (const results::ScenarioResult& load : model.bounds.loads) {
      cases += load_case(model, load, context, counts);
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
    for (const analysis::Bound& bound : model.bounds.bounds) {
      const std::string name = escape_xml(fmt::format("{}.{}", to_text(bound.kind), bound.mode));
      if (const std::optional<Seconds> time = analysis::known_time(bound)) {
        out << property(name + ".seconds", fmt::format("{:.9f}", time->count()));
      }
      out << property(name + ".complete", bound.complete ? "true" : "false");
    }
    if (!model.bounds.loads.empty()) {
      out << property("mlperf.notice", escape_xml(std::string(loadgen::kMlperfUnverified)));
    }
    out << property("layers.measured", std::to_string(model.bounds.measured_layers));
    out << property("layers.total", std::to_string(model.bounds.total_layers));
    out << "    </properties>\n" << cases << "  </testsuite>\n";
  }
  if (!report.layers.empty()) {
    out << single_layers(report, context);
  }
  if (!report.exclusions.empty()) {
    out << exclusions(report);
  }
  out << "</testsuites>\n";
}

namespace {

/// Writes one layer with its hot time by the fastest variant. Times that are not known are empty.
void write_layer(std::vector<std::string> cells,
                 const model::LayerKey& key,
                 const std::optional<analysis::KeyTime>& time,
                 std::ostream& out) {
  const auto seconds = [&](auto value) {
    return csv_number(time ? std::optional(value(*time).count()) : std::nullopt);
  };
  cells.insert(cells.end(),
               {key.text,
                time ? time->variant : "",
                seconds([](const analysis::KeyTime& each) { return each.time.median; }),
                seconds([](const analysis::KeyTime& each) { return each.time.interval.low; }),
                seconds([](const analysis::KeyTime& each) { return each.time.interval.high; })});
  out << csv_row(cells);
}

}  // namespace

void write_csv_report(const analysis::RunReport& report, std::ostream& out) {
  out << csv_row({"model",
                  "batch",
                  "dtype",
                  "layer",
                  "op",
                  "key",
                  "variant",
                  "median_seconds",
                  "low_seconds",
                  "high_seconds"});
  const analysis::ResultSet results(report.rows, report.calibration);
  for (const analysis::RunReport::Model& model : report.models) {
    const analysis::ModelInstance& instance = model.bounds.instance;
    for (const model::Layer& layer : model.graph.layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        write_layer({full_name(instance),
                     std::to_string(instance.batch),
                     instance.dtype,
                     layer.name,
                     layer.onnx_op},
                    layer.key,
                    results.best(layer.key, results::CacheMode::kNone),
                    out);
      }
    }
  }
  for (const analysis::SingleLayerResult& result : report.layers) {
    write_layer({"", "", "", result.layer.file, ""}, result.layer.key, result.time, out);
  }
}

}  // namespace plumb::reporting
