// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/comparison_writers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kAtMost = 10;  // GitHub shows ten of a kind for a step

/// Escapes the characters that end a workflow command or one of its properties.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : sanitize_utf8(text)) {
    switch (c) {
      case '%':
        safe += "%25";
        break;
      case ':':
        safe += "%3A";
        break;
      case ',':
        safe += "%2C";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string command(std::string_view kind, const std::string& title, const std::string& text) {
  return fmt::format("::{} title={}::{}\n", kind, escaped(title), escaped(text));
}

std::string annotation(const analysis::MetricComparison& metric,
                       std::string_view kind,
                       const analysis::ComparisonReport& report) {
  const std::string key = analysis::layer_key_of(metric);
  const auto place = report.places.find(key);
  const std::string name = place == report.places.end() ? metric.series : place->second;
  std::string text = key.empty() ? metric.series : key;
  if (metric.ratio) {
    text += fmt::format(" {} → {}, {} ({})",
                        baseline_text(metric),
                        candidate_text(metric),
                        ratio_change_text(metric),
                        change_interval_text(metric));
  }
  const std::string why = why_text(metric);
  return command(kind,
                 fmt::format("{} {}: {}", to_text(metric.kind), to_text(metric.verdict), name),
                 why.empty() ? text : text + "; " + why);
}

}  // namespace

void write_comparison_annotations(const analysis::ComparisonReport& report, std::ostream& out) {
  const MetricList changed = changed_metrics(report.comparison.metrics);
  for (const bool worse : {true, false}) {
    const std::string_view kind = worse ? "error" : "notice";
    const auto all = static_cast<std::size_t>(std::count_if(
        changed.begin(), changed.end(), [&](const auto* m) { return is_worse(*m) == worse; }));
    std::size_t written = 0;
    for (const analysis::MetricComparison* metric : changed) {
      if (is_worse(*metric) == worse) {
        if (all > kAtMost && written + 1 == kAtMost) {
          out << command(kind,
                         fmt::format("and {} more", all - written),
                         fmt::format("{} of {} are listed", written, all));
          break;
        }
        out << annotation(*metric, kind, report);
        ++written;
      }
    }
  }
  if (report.comparison.verdict == analysis::ComparisonVerdict::kInconclusive) {
    out << command(
        "warning", "not enough evidence", counts_text(verdict_counts(report.comparison.metrics)));
  }
}

namespace {

void write_metric(const analysis::MetricComparison& metric,
                  const std::string& excluded,
                  std::ostream& out) {
  const bool compared = metric.ratio.has_value();
  const auto known = [](bool is_known, double value) {
    return csv_number(is_known ? std::optional(value) : std::nullopt);
  };
  out << csv_row({metric.series,
                  std::string(to_text(metric.kind)),
                  metric.model,
                  metric.in_bytes ? "bytes" : "seconds",
                  known(compared, metric.baseline),
                  known(compared, metric.candidate),
                  csv_number(metric.ratio),
                  known(compared && metric.has_interval, metric.low),
                  known(compared && metric.has_interval, metric.high),
                  csv_number(metric.q),
                  csv_number(metric.mde),
                  std::string(to_text(metric.verdict)),
                  metric.decides ? "yes" : "no",
                  metric.reason,
                  excluded});
}

}  // namespace

void write_comparison_csv(const analysis::ComparisonReport& report, std::ostream& out) {
  out << csv_row({"series",
                  "kind",
                  "model",
                  "unit",
                  "baseline",
                  "candidate",
                  "ratio",
                  "low",
                  "high",
                  "q",
                  "mde",
                  "verdict",
                  "decides",
                  "reason",
                  "excluded"});
  for (const analysis::MetricComparison& metric : report.comparison.metrics) {
    write_metric(metric, "", out);
  }
  for (const analysis::ComparisonReport::AppliedExclusion& each : report.exclusions) {
    for (const analysis::MetricComparison& metric : each.metrics) {
      write_metric(metric, each.exclusion.reason, out);
    }
  }
}

namespace {

/// One test suite under construction: its cases, and how many of them failed.
struct Cases {
  std::string text;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t skipped = 0;
  double seconds = 0.0;
};

std::string property(const std::string& name, const std::string& value) {
  return fmt::format("        <property name=\"{}\" value=\"{}\"/>\n", name, escape_xml(value));
}

std::string properties(const analysis::MetricComparison& metric,
                       const analysis::ComparisonReport& report) {
  std::string text = property("kind", std::string(to_text(metric.kind))) +
                     property("verdict", std::string(to_text(metric.verdict)));
  const std::string key = analysis::layer_key_of(metric);
  if (!key.empty()) {
    text += property("key", key);
    const auto place = report.places.find(key);
    text += place == report.places.end() ? "" : property("place", place->second);
  }
  if (metric.ratio) {
    const char* const unit = metric.in_bytes ? "bytes" : "seconds";
    const auto amount = [&](double value) {
      return metric.in_bytes ? fmt::format("{:.0f}", value) : fmt::format("{:.9f}", value);
    };
    text += property(fmt::format("baseline_{}", unit), amount(metric.baseline)) +
            property(fmt::format("candidate_{}", unit), amount(metric.candidate)) +
            property("ratio", fmt::format("{:.6f}", *metric.ratio));
    text += metric.has_interval
                ? property("interval", fmt::format("{:.6f} {:.6f}", metric.low, metric.high))
                : "";
  }
  if (metric.q) {
    text += property("q", fmt::format("{:.3g}", *metric.q));
  }
  if (metric.mde) {
    text += property("mde", fmt::format("{:.6f}", *metric.mde));
  }
  return text;
}

void add(const analysis::MetricComparison& metric,
         const std::string& suite,
         const analysis::ComparisonReport& report,
         Cases& cases) {
  ++cases.tests;
  cases.text += fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\"", escape_xml(suite), escape_xml(metric.series));
  if (metric.ratio && !metric.in_bytes) {
    cases.text += fmt::format(" time=\"{:.9f}\"", metric.candidate);
    cases.seconds += metric.candidate;
  }
  cases.text +=
      fmt::format(">\n      <properties>\n{}      </properties>\n", properties(metric, report));
  const std::string why = why_text(metric);
  const std::string change =
      metric.ratio ? fmt::format("{} ({})", ratio_change_text(metric), change_interval_text(metric))
                   : "";
  const std::string message =
      escape_xml(fmt::format("{}{}{}", change, change.empty() || why.empty() ? "" : "; ", why));
  if (is_worse(metric)) {
    ++cases.failures;
    cases.text += fmt::format(
        "      <failure type=\"{}\" message=\"{}\"/>\n", to_text(metric.verdict), message);
  } else if (metric.verdict == analysis::ComparisonVerdict::kInconclusive) {
    ++cases.skipped;
    cases.text += fmt::format("      <skipped message=\"inconclusive: {}\"/>\n", message);
  }
  cases.text += "    </testcase>\n";
}

/// Adds a case that decides nothing, and why.
void add_skipped(const std::string& suite,
                 const std::string& name,
                 const std::string& why,
                 Cases& cases) {
  ++cases.tests;
  ++cases.skipped;
  cases.text += fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\">\n      <skipped message=\"{}\"/>\n"
      "    </testcase>\n",
      escape_xml(suite),
      escape_xml(name),
      escape_xml(why));
}

std::string suite_of(const analysis::MetricComparison& metric) {
  return metric.model.empty() ? "layers" : metric.model;
}

}  // namespace

void write_comparison_junit(const analysis::ComparisonReport& report, std::ostream& out) {
  std::map<std::string, Cases> suites;
  Cases all;
  for (const analysis::MetricComparison& metric : report.comparison.metrics) {
    const std::string suite = suite_of(metric);
    add(metric, suite, report, suites[suite]);
  }
  for (const analysis::RunComparison::NotCompared& each : report.comparison.not_compared) {
    add_skipped("layers",
                each.series,
                "not compared: failed in the same way in both; " + failures_text(each),
                suites["layers"]);
  }
  for (const analysis::ComparisonReport::AppliedExclusion& each : report.exclusions) {
    for (const analysis::MetricComparison& metric : each.metrics) {
      const std::string suite = suite_of(metric);
      add_skipped(suite,
                  metric.series,
                  fmt::format("excluded by the suite: {}; {}",
                              exclusion_text(each.exclusion, false),
                              to_text(metric.verdict)),
                  suites[suite]);
    }
  }
  for (const auto& [name, cases] : suites) {
    all.tests += cases.tests;
    all.failures += cases.failures;
    all.skipped += cases.skipped;
  }
  out << fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
      escape_xml(title_text(report)),
      all.tests,
      all.failures,
      all.skipped);
  for (const auto& [name, cases] : suites) {
    out << fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
        "time=\"{:.9f}\"{}>\n{}  </testsuite>\n",
        escape_xml(name),
        cases.tests,
        cases.failures,
        cases.skipped,
        cases.seconds,
        report.candidate.header.id.empty()
            ? ""
            : fmt::format(" timestamp=\"{}\"",
                          to_text(report.candidate.header.started).substr(0, 19)),
        cases.text);
  }
  out << "</testsuites>\n";
}

}  // namespace plumb::reporting
