// SPDX-License-Identifier: Apache-2.0
#include "reporting/prometheus/suite_metrics.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {

std::string label_text(const std::string& text, std::size_t most) {
  std::string label = sanitize_utf8(text);
  if (label.size() <= most) {
    return label;
  }
  const std::string hash = '~' + sha256(text).substr(0, 8);
  return label.substr(0, whole_characters(label, most - hash.size())) + hash;
}

namespace {

std::string fact(const results::Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() || found->second == "unknown" ? "" : label_text(found->second);
}

void add_timestamp(const SuiteMetrics& suite, GaugeFamily& family) {
  if (!suite.newest) {
    return;
  }
  const results::RunRecord& run = suite.newest->run;
  const MetricLabels labels = suite_labels(suite);
  family.add(labels, {{"event", "started"}}, unix_seconds(run.header.started));
  if (run.finished) {
    family.add(labels, {{"event", "finished"}}, unix_seconds(*run.finished));
  }
}

void add_unfinished(const SuiteMetrics& suite, GaugeFamily& family) {
  if (suite.unfinished) {
    family.add(suite_labels(suite), {}, unix_seconds(*suite.unfinished));
  }
}

void add_duration(const SuiteMetrics& suite, GaugeFamily& family) {
  if (!suite.newest || !suite.newest->run.finished) {
    return;
  }
  if (const auto took = elapsed(suite.newest->run.header.started, *suite.newest->run.finished)) {
    family.add(suite_labels(suite), {}, took->count());
  }
}

void add_rows(const SuiteMetrics& suite, GaugeFamily& family) {
  if (!suite.newest) {
    return;
  }
  const MetricLabels labels = suite_labels(suite);
  for (const results::Outcome::Kind kind : {results::Outcome::Kind::kOk,
                                            results::Outcome::Kind::kUnsupported,
                                            results::Outcome::Kind::kWrongResult,
                                            results::Outcome::Kind::kCrashed,
                                            results::Outcome::Kind::kTimedOut,
                                            results::Outcome::Kind::kOutOfMemory,
                                            results::Outcome::Kind::kUnstable,
                                            results::Outcome::Kind::kSkipped}) {
    const auto count = suite.newest->rows.find(kind);
    family.add(labels,
               {{"outcome", std::string(to_text(kind))}},
               count == suite.newest->rows.end() ? 0.0 : static_cast<double>(count->second));
  }
  family.add(labels, {{"outcome", "reused"}}, static_cast<double>(suite.newest->reused));
}

/// Adds how many models are complete. A run without layers (`--only models`) says nothing of that.
void add_models(const SuiteMetrics& suite, GaugeFamily& family) {
  if (!suite.newest || (suite.newest->rows.empty() && suite.newest->reused == 0)) {
    return;
  }
  std::vector<analysis::ModelBounds> models = suite.newest->models;
  std::erase_if(models, [&](const analysis::ModelBounds& model) {
    return results::find_exclusion(suite.newest->exclusions,
                                   {analysis::subject_of(model.instance)}) != nullptr;
  });
  const auto complete = std::count_if(models.begin(), models.end(), [](const auto& model) {
    return model.measured_layers == model.total_layers;
  });
  const MetricLabels labels = suite_labels(suite);
  family.add(labels, {{"state", "complete"}}, static_cast<double>(complete));
  family.add(labels,
             {{"state", "incomplete"}},
             static_cast<double>(models.size()) - static_cast<double>(complete));
}

void add_disturbed(const SuiteMetrics& suite, GaugeFamily& family) {
  if (suite.newest && suite.newest->timed > 0) {
    family.add(
        suite_labels(suite),
        {},
        static_cast<double>(suite.newest->disturbed) / static_cast<double>(suite.newest->timed));
  }
}

void add_clock(const SuiteMetrics& suite, GaugeFamily& family) {
  if (!suite.newest) {
    return;
  }
  const std::string text = fact(suite.newest->run.header.environment.facts, "frequency.mhz_now");
  double megahertz = 0.0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), megahertz);
  if (parsed.ec == std::errc() && megahertz > 0.0) {
    family.add(suite_labels(suite), {}, megahertz * 1e6);
  }
}

void add_info(const SuiteMetrics& suite, GaugeFamily& family) {
  if (suite.newest) {
    const results::RunRecord& run = suite.newest->run;
    family.add(suite_labels(suite),
               {{"suite_hash", label_text(run.header.suite_hash).substr(0, 12)},
                {"environment", run.header.environment.id()},
                {"state", std::string(to_text(run.state))}},
               1.0);
  }
}

/// Names what the newest run measured, where its labels say it.
void add_commit(const SuiteMetrics& suite, GaugeFamily& family) {
  if (!suite.newest) {
    return;
  }
  const results::RunLabels labels = results::run_labels(suite.newest->run.header.environment);
  if (const auto commit = labels.find("commit"); commit != labels.end()) {
    const auto branch = labels.find("branch");
    family.add(suite_labels(suite),
               {{"commit", label_text(commit->second)},
                {"branch", branch == labels.end() ? "" : label_text(branch->second)}},
               1.0);
  }
}

void add_benchmark_times(const SuiteMetrics& suite, GaugeFamily& family) {
  if (!suite.newest) {
    return;
  }
  const MetricLabels labels = suite_labels(suite);
  std::set<std::string> seen;  // Names that differ in control characters may give one label.
  for (const RunMetrics::Benchmark& benchmark : suite.newest->benchmarks) {
    const std::string name = label_text(benchmark.name);
    if (!seen.insert(name).second) {
      continue;
    }
    const auto add = [&](const char* stat, Seconds time) {
      family.add(labels, {{"benchmark", name}, {"stat", stat}}, time.count());
    };
    add("median", benchmark.time.median);
    if (measure::has_interval(benchmark.time)) {
      add("low", benchmark.time.interval.low);
      add("high", benchmark.time.interval.high);
    }
  }
}

void add_benchmarks(const SuiteMetrics& suite, GaugeFamily& family) {
  if (!suite.newest || suite.newest->benchmarks_timed + suite.newest->benchmarks_failed == 0) {
    return;
  }
  const RunMetrics& run = *suite.newest;
  const MetricLabels labels = suite_labels(suite);
  family.add(labels, {{"state", "timed"}}, static_cast<double>(run.benchmarks_timed));
  family.add(labels, {{"state", "failed"}}, static_cast<double>(run.benchmarks_failed));
  family.add(labels,
             {{"state", "left_out"}},
             static_cast<double>(run.benchmarks_timed - run.benchmarks.size()));
}

void add_changed(const SuiteMetrics& suite, GaugeFamily& family) {
  if (suite.environment_changed) {
    family.add(suite_labels(suite), {}, *suite.environment_changed ? 1.0 : 0.0);
  }
}

void add_exclusions(const SuiteMetrics& suite, GaugeFamily& family) {
  if (!suite.newest) {
    return;
  }
  std::set<std::string> seen;
  for (const results::Exclusion& each : suite.newest->exclusions) {
    const std::string name = label_text(each.match);
    if (seen.insert(name).second) {
      family.add(suite_labels(suite),
                 {{"case", name}, {"reason", label_text(each.reason)}, {"until", each.until}},
                 1.0);
    }
  }
}

constexpr std::array<MetricRow<SuiteMetrics>, 13> kTable{{
    {"plumb_run_timestamp_seconds",
     "When the newest finished run started and finished.",
     add_timestamp},
    {"plumb_run_unfinished_timestamp_seconds",
     "When a run started that is newer and has not finished.",
     add_unfinished},
    {"plumb_run_duration_seconds", "How long the newest finished run took.", add_duration},
    {"plumb_run_rows", "Rows of the newest finished run by outcome.", add_rows},
    {"plumb_run_models", "Models of the newest finished run by completeness.", add_models},
    {"plumb_run_disturbed_ratio", "Share of rows measured on a disturbed host.", add_disturbed},
    {"plumb_run_clock_hertz", "Clock of the processor when the run started.", add_clock},
    {"plumb_run_info", "Identifies the newest finished run's suite and environment.", add_info},
    {"plumb_run_commit_info", "Names the commit of the newest finished run.", add_commit},
    {"plumb_benchmark_seconds", "Time of an imported benchmark.", add_benchmark_times},
    {"plumb_run_benchmarks",
     "Imported benchmarks of the newest finished run by state.",
     add_benchmarks},
    {"plumb_run_exclusion_info",
     "Names what the newest finished run's suite excludes from gates and alerts.",
     add_exclusions},
    {"plumb_environment_changed",
     "Whether something beside the stack changed since the run before.",
     add_changed},
}};

}  // namespace

MetricLabels suite_labels(const SuiteMetrics& suite) {
  MetricLabels labels;
  labels.reserve(9);
  add_label(labels, "suite", label_text(suite.series.suite));
  add_label(labels, "backend", label_text(suite.series.backend));
  add_label(labels, "device", suite.device);
  add_label(labels, "stack", label_text(suite.series.stack));
  add_label(labels, "threads", label_text(suite.series.threads));
  add_label(labels, "system", suite.series.system);
  return labels;
}

std::vector<const SuiteMetrics*> newest_first(std::span<const SuiteMetrics> suites) {
  std::vector<const SuiteMetrics*> sorted;
  for (const SuiteMetrics& suite : suites) {
    if (suite.newest) {
      sorted.push_back(&suite);
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* one, const auto* other) {
    return one->newest->run.header.started > other->newest->run.header.started;
  });
  return sorted;
}

std::span<const MetricRow<SuiteMetrics>> suite_metric_table() {
  return kTable;
}

GaugeFamily environment_info(std::span<const SuiteMetrics> suites) {
  GaugeFamily family("plumb_environment_info", "Describes the environments of the newest runs.");
  std::set<std::string> seen;
  for (const SuiteMetrics* suite : newest_first(suites)) {
    const results::Environment& environment = suite->newest->run.header.environment;
    const std::string id = environment.id();
    if (seen.insert(id).second) {
      family.add({},
                 {{"environment", id},
                  {"system", suite->series.system},
                  {"device", suite->device},
                  {"driver", fact(environment.identity, "driver")},
                  {"cpu_count", fact(environment.identity, "cpu.count")},
                  {"memory", fact(environment.identity, "memory")},
                  {"virtualisation", fact(environment.identity, "virtualisation")},
                  {"threads", fact(environment.identity, "threads")},
                  {"method", fact(environment.identity, "method")},
                  {"kernel", fact(environment.facts, "kernel")},
                  {"governor", fact(environment.facts, "governor")},
                  {"microcode", fact(environment.facts, "microcode")}},
                 1.0);
    }
  }
  return family;
}

GaugeFamily stack_info(std::span<const SuiteMetrics> suites) {
  GaugeFamily family("plumb_stack_info", "Names the library behind a stack.");
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const SuiteMetrics* suite : newest_first(suites)) {
    const analysis::RunSeries& series = suite->series;
    const results::Environment& environment = suite->newest->run.header.environment;
    const std::string stack = label_text(series.stack);
    const std::string backend = label_text(series.backend);
    if (seen.emplace(stack, backend, series.system).second) {
      family.add({},
                 {{"stack", stack},
                  {"backend", backend},
                  {"system", series.system},
                  {"library", fact(environment.identity, "library")},
                  {"version", fact(environment.facts, "library.version")}},
                 1.0);
    }
  }
  return family;
}

namespace {

constexpr const char* kThrottled = "throttled_ratio";  // 0 where the device was asked and was not
constexpr std::string_view kReasonBegin = "throttled.";
constexpr std::string_view kReasonEnd = "_ratio";

/// Returns a reading of the newest run; null: the run has none of that name.
const results::Reading* find_reading(const SuiteMetrics& suite, const char* name) {
  if (!suite.newest) {
    return nullptr;
  }
  const auto found = suite.newest->readings.find(name);
  return found == suite.newest->readings.end() ? nullptr : &found->second;
}

void add_reading(const SuiteMetrics& suite, const char* name, GaugeFamily& family) {
  if (const results::Reading* const reading = find_reading(suite, name)) {
    const MetricLabels labels = suite_labels(suite);
    family.add(labels, {{"stat", "mean"}}, reading->median);
    family.add(labels, {{"stat", "low"}}, reading->low);
    family.add(labels, {{"stat", "high"}}, reading->high);
  }
}

void add_throttled(const SuiteMetrics& suite, GaugeFamily& family) {
  if (const results::Reading* const share = find_reading(suite, kThrottled)) {
    family.add(suite_labels(suite), {}, share->high > 0.0 ? 1.0 : 0.0);
  }
}

/// Adds the share of all samples that saw each reason. A row has a reading of a reason only if one
/// of its own samples saw it.
void add_reasons(const SuiteMetrics& suite, GaugeFamily& family) {
  const results::Reading* const all = find_reading(suite, kThrottled);
  if (all == nullptr || all->n <= 0) {
    return;
  }
  const MetricLabels labels = suite_labels(suite);
  for (const auto& [name, reading] : suite.newest->readings) {
    if (name.starts_with(kReasonBegin) && name.ends_with(kReasonEnd) &&
        name.size() > kReasonBegin.size() + kReasonEnd.size()) {
      const std::string reason =
          name.substr(kReasonBegin.size(), name.size() - kReasonBegin.size() - kReasonEnd.size());
      family.add(labels,
                 {{"reason", label_text(reason)}},
                 reading.median * static_cast<double>(reading.n) / static_cast<double>(all->n));
    }
  }
}

void add_temperature(const SuiteMetrics& suite, GaugeFamily& family) {
  add_reading(suite, "temperature_celsius", family);
}

void add_sm_clock(const SuiteMetrics& suite, GaugeFamily& family) {
  add_reading(suite, "sm_clock_hertz", family);
}

void add_memory_clock(const SuiteMetrics& suite, GaugeFamily& family) {
  add_reading(suite, "memory_clock_hertz", family);
}

void add_power(const SuiteMetrics& suite, GaugeFamily& family) {
  add_reading(suite, "power_watts", family);
}

constexpr std::array<MetricRow<SuiteMetrics>, 6> kDeviceTable{{
    {"plumb_run_throttled",
     "Whether the device lowered its clocks while it was measured (1) or not (0).",
     add_throttled},
    {"plumb_run_throttled_ratio",
     "Share of the samples that saw a reason for a lower clock.",
     add_reasons},
    {"plumb_run_temperature_celsius",
     "Temperature of the device while it was measured.",
     add_temperature},
    {"plumb_run_sm_clock_hertz", "Clock of the GPU's cores while it was measured.", add_sm_clock},
    {"plumb_run_memory_clock_hertz",
     "Clock of the GPU's memory while it was measured.",
     add_memory_clock},
    {"plumb_run_power_watts", "Power of the device while it was measured.", add_power},
}};

}  // namespace

std::span<const MetricRow<SuiteMetrics>> device_metric_table() {
  return kDeviceTable;
}

}  // namespace plumb::reporting
