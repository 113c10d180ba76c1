// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/imported_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/json_text.hpp"
#include "harness/results/labels/external_name.hpp"
#include "harness/stats/student_t.hpp"

namespace plumb::importers {
namespace {

constexpr std::size_t kMaxSuiteName = 100;
constexpr double kNormal90 = 1.281552;  // 90% quantile of the standard normal distribution

void check_suite_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (name.empty() || name.size() > kMaxSuiteName || !plain) {
    refuse(fmt::format("'{}' cannot name a suite: use 1 to {} letters, digits, '.', '_', '-'",
                       name.substr(0, kMaxSuiteName),
                       kMaxSuiteName));
  }
}

/// Summarizes samples of which only statistics were kept. The mean stands for the median, with
/// Student's t interval at 95%. The 90th percentile is that of a normal distribution.
measure::SampleSummary summarize_statistics(const ImportedBenchmark::Statistics& statistics) {
  const Seconds deviation = statistics.deviation.value_or(Seconds(0.0));
  measure::SampleSummary summary;
  // A mean alone is worth one sample: nothing shows its noise.
  summary.n = statistics.deviation || statistics.interval ? statistics.n : 1;
  const double n = static_cast<double>(summary.n);
  const Seconds reach =
      summary.n > 1 ? stats::t_quantile(0.975, n - 1.0) / std::sqrt(n) * deviation : Seconds(0.0);
  summary.median = summary.mean = statistics.mean;
  summary.interval = statistics.interval.value_or(
      measure::Interval{std::max(statistics.mean - reach, Seconds(0.0)), statistics.mean + reach});
  summary.min = std::min(statistics.min.value_or(statistics.mean), statistics.mean);
  summary.p90 = statistics.mean + kNormal90 * deviation;
  return summary;
}

results::Measurement make_row(const ImportedBenchmark& benchmark,
                              const std::string& suite,
                              const KeyMapping& keys,
                              std::size_t process,
                              Timestamp started) {
  results::Measurement row;
  const auto mapped = keys.find(benchmark.name);
  if (mapped == keys.end()) {
    row.key = results::external_key(suite, benchmark.name);
    row.variant = benchmark.statistics ? "external;statistic=mean" : "external";
    row.library_choice = true;
  } else {
    row.key = mapped->second.key;
    row.variant = results::external_variant(benchmark.name);
    row.library_choice = mapped->second.alone;
  }
  row.outcome = benchmark.outcome;
  row.process = static_cast<std::int64_t>(process);
  row.started = started;
  if (benchmark.statistics) {
    row.summary = summarize_statistics(*benchmark.statistics);
    // A mean alone is one sample of all executions behind it.
    row.repetitions =
        benchmark.repetitions * static_cast<std::int64_t>(benchmark.statistics->n / row.summary.n);
  } else if (benchmark.outcome.ok()) {
    row.samples = benchmark.samples;
    row.repetitions = benchmark.repetitions;
    row.summary = measure::summarize(benchmark.samples);
  }
  return row;
}

/// Checks that there is something to store: a time, or a failure other than a skip. Throws
/// Error{kUser}.
void check_something(std::span<const ImportedResults> processes,
                     std::span<const std::string> files) {
  std::size_t skipped = 0;
  for (const ImportedResults& process : processes) {
    for (const ImportedBenchmark& benchmark : process.benchmarks) {
      if (benchmark.outcome.kind != results::Outcome::Kind::kSkipped) {
        return;
      }
      ++skipped;
    }
  }
  refuse(
      fmt::format("no benchmark of '{}'{} was measured: all {} were skipped; nothing was imported",
                  files.front(),
                  files.size() > 1 ? fmt::format(" and {} more files", files.size() - 1) : "",
                  skipped));
}

/// Returns when the run was measured. Throws Error{kUser} if its first file gives a date that is
/// not a time, and the user gives none.
Timestamp find_start(const ImportedName& name,
                     const ImportedResults& first,
                     const std::string& file,
                     Timestamp now) {
  if (!name.started && !first.unread_date.empty()) {
    refuse(
        fmt::format("'{}': its date '{}' is not a time: say when it was measured with --at; "
                    "nothing was imported",
                    file,
                    first.unread_date));
  }
  return name.started.value_or(first.started.value_or(now));
}

}  // namespace

ImportedRun make_imported_run(const ImportedName& name,
                              std::span<const ImportedResults> processes,
                              std::span<const std::string> files,
                              Timestamp now) {
  PLUMB_CHECK(!processes.empty() && processes.size() == files.size());
  check_suite_name(name.suite);
  check_something(processes, files);
  const ImportedResults& first = processes.front();
  ImportedRun run;
  results::RunHeader& header = run.header;
  header.suite = name.suite;
  header.resolved_suite =
      json_text(nlohmann::json{{"external", name.format}, {"name", name.suite}});
  header.suite_hash = sha256(header.resolved_suite);
  header.backend = name.format;
  header.stack = "external";
  header.started = find_start(name, first, files.front(), now);
  header.environment = {first.identity, first.facts};
  header.environment.identity["format"] = name.format;
  if (const std::string& version = name.version.empty() ? first.version : name.version;
      !version.empty()) {
    header.environment.facts["version"] = version;
  }
  if (!name.system.empty()) {
    header.environment.identity["host"] = name.system;
  }
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].identity != first.identity) {
      refuse(
          fmt::format("'{}' and '{}' were measured on different machines, but a run has one "
                      "machine: import them separately",
                      files.front(),
                      files[i]));
    }
    const Timestamp started = processes[i].started.value_or(header.started);
    for (const ImportedBenchmark& benchmark : processes[i].benchmarks) {
      run.rows.push_back(make_row(benchmark, name.suite, name.keys, i, started));
    }
  }
  return run;
}

}  // namespace plumb::importers
