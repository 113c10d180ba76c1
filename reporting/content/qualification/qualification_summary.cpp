// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/qualification/qualification_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "reporting/content/comparison/attribution_rows.hpp"
#include "reporting/content/comparison/function_rows.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/qualification/qualification_writers.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"
#include "reporting/formats/text_page.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kMaxLayers = 20;

std::string percent(double ratio) {
  return fmt::format("{:+.2f} %", (ratio - 1.0) * 100.0);
}

std::vector<std::string> cells(const analysis::QualifiedMetric& metric) {
  const analysis::MetricComparison& test = metric.test;
  const bool compared = test.ratio.has_value();
  return {compared ? time_text(Seconds(test.baseline)) : "–",
          compared ? time_text(Seconds(test.candidate)) : "–",
          compared ? percent(*test.ratio) : "–",
          compared ? percent(test.low) + " … " + percent(test.high) : "–",
          test.mde ? fmt::format("{:.2f} %", *test.mde * 100.0) : "–",
          std::to_string(metric.baseline_seconds.size()),
          std::string(to_text(test.verdict)) + (test.reason.empty() ? "" : ": " + test.reason),
          metric.mode.empty() ? (metric.place.empty() ? "" : metric.place + ": ") + metric.subject
                              : metric.subject + " " + metric.mode};
}

AlignedTable metric_table() {
  return AlignedTable({{"  baseline", true},
                       {"candidate", true},
                       {"change", true},
                       {"95 %", true},
                       {"detectable", true},
                       {"pairs", true},
                       {"verdict"},
                       {"metric"}});
}

bool quiet(const analysis::QualifiedMetric& metric) {
  return metric.test.verdict == analysis::ComparisonVerdict::kEquivalent ||
         metric.test.verdict == analysis::ComparisonVerdict::kInconclusive;
}

void write_layers(const analysis::Qualification& q, std::ostream& out) {
  std::map<std::string_view, std::size_t> counts;
  std::vector<const analysis::QualifiedMetric*> changed;
  for (const analysis::QualifiedMetric& layer : q.layers) {
    ++counts[to_text(layer.test.verdict)];
    if (!quiet(layer)) {
      changed.push_back(&layer);
    }
  }
  out << fmt::format("\n{}:", counted(q.layers.size(), "layer"));
  for (const auto& [verdict, count] : counts) {
    out << fmt::format("{} {} {}", verdict == counts.begin()->first ? "" : ",", count, verdict);
  }
  out << '\n';
  if (changed.empty()) {
    return;
  }
  std::stable_sort(changed.begin(), changed.end(), [](const auto* one, const auto* other) {
    return one->test.delta > other->test.delta;
  });
  AlignedTable table = metric_table();
  for (std::size_t i = 0; i < std::min(changed.size(), kMaxLayers); ++i) {
    table.add(cells(*changed[i]));
  }
  table.write(out);
  if (changed.size() > kMaxLayers) {
    out << fmt::format("  and {} more, all of them with --json\n", changed.size() - kMaxLayers);
  }
}

void write_quality(const analysis::Qualification& q, std::ostream& out) {
  out << fmt::format(
      "\nevidence: {} rounds, {} of them invalid; looks at", q.rounds, q.invalid_rounds.size());
  for (const analysis::QualificationLook& look : q.looks) {
    out << fmt::format(" {} pairs ({} open)", look.pairs, look.open);
  }
  out << '\n';
  for (const analysis::QualifiedControl& control : q.controls) {
    if (control.test.ratio) {
      out << fmt::format("  control {}: {} ({} to {}){}\n",
                         control.name,
                         percent(*control.test.ratio),
                         percent(control.test.low),
                         percent(control.test.high),
                         control.moved ? ": the machine drifted" : "");
    }
  }
  if (q.alarms.tests > 0) {
    out << fmt::format(
        "  each stack with itself: {} of {} tests at {:.0f} % alarm ({:.1f} % to {:.1f} %)\n",
        q.alarms.alarms,
        q.alarms.tests,
        100.0 * q.alarms.level,
        100.0 * q.alarms.low,
        100.0 * q.alarms.high);
  }
  std::vector<analysis::MetricComparison> tests;
  for (const analysis::QualifiedMetric& layer : q.layers) {
    tests.push_back(layer.test);
  }
  if (const std::string floors = floors_text(tests); !floors.empty()) {
    out << "  " << floors << '\n';
  }
  for (const std::string& note : q.notes) {
    out << fmt::format("  {}\n", sanitize_utf8(note));
  }
}

}  // namespace

void write_qualification(const analysis::Qualification& q, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    analysis::Json document{{"schema_version", analysis::kJsonSchemaVersion}};
    document.update(analysis::Json::parse(to_json(q)));
    write_json(document, out);
    return;
  }
  out << fmt::format("{}: {} → {}: {}\n{}\n\n",
                     sanitize_utf8(q.suite),
                     sanitize_utf8(stack_label(q.baseline)),
                     sanitize_utf8(stack_label(q.candidate)),
                     verdict_words(q.verdict),
                     sanitize_utf8(q.reason));
  AlignedTable criteria({{"  criterion"}, {"limit"}, {"state"}, {"found"}});
  for (const analysis::CriterionResult& result : q.results) {
    criteria.add(
        {"  " + result.criterion, result.limit, std::string(to_text(result.state)), result.found});
  }
  criteria.write(out);
  if (!q.models.empty()) {
    out << '\n';
    AlignedTable models = metric_table();
    for (const analysis::QualifiedMetric& model : q.models) {
      models.add(cells(model));
    }
    models.write(out);
  }
  write_layers(q, out);
  const std::map<std::string, std::string> places = as_comparison(q).places;
  TextPage reasons;
  if (!q.findings.empty()) {
    reasons.heading("Where it comes from");
    add_findings(q.findings, places, reasons);
  }
  if (!q.functions.empty()) {
    reasons.heading("Inside what changed");
    add_functions(q.functions, places, reasons);
  }
  reasons.write(out);
  write_quality(q, out);
  out << fmt::format("runs {} and {}\n", q.baseline.run, q.candidate.run);
}

}  // namespace plumb::reporting
