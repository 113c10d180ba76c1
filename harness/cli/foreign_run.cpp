// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/foreign_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/measure/student_t.hpp"

namespace plumb {
namespace {

constexpr std::size_t kSuiteNameAtMost = 100;
constexpr std::size_t kLeastSamples = 2;
constexpr double kNormal90 = 1.281552;  // quantile of the normal law

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Error::Kind::kUser, what);
}

void check_suite_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (name.empty() || name.size() > kSuiteNameAtMost || !plain) {
    refuse(fmt::format("'{}' cannot name a suite: 1 to {} letters, digits, '.', '_', '-'",
                       name.substr(0, kSuiteNameAtMost),
                       kSuiteNameAtMost));
  }
}

/// Sums up what is known of samples that were not kept: the mean stands for the median, with
/// Student's interval, and the 90th percentile is that of the normal law.
SampleSummary summary_of(const ForeignBenchmark::Statistics& statistics) {
  const Seconds deviation = statistics.deviation.value_or(Seconds(0.0));
  const double n = static_cast<double>(statistics.n);
  const Seconds reach =
      statistics.n > 1 ? t_quantile(0.975, n - 1.0) / std::sqrt(n) * deviation : Seconds(0.0);
  SampleSummary summary;
  summary.n = statistics.n;
  summary.median = summary.mean = statistics.mean;
  summary.interval = {std::max(statistics.mean - reach, Seconds(0.0)), statistics.mean + reach};
  summary.min = std::min(statistics.min.value_or(statistics.mean), statistics.mean);
  summary.p90 = statistics.mean + kNormal90 * deviation;
  return summary;
}

Measurement row_of(const ForeignBenchmark& benchmark,
                   const std::string& suite,
                   std::size_t process,
                   Timestamp started) {
  Measurement row;
  row.key = {fmt::format("external:{}:{}", suite, benchmark.name)};
  row.variant = benchmark.statistics ? "external;statistic=mean" : "external";
  row.library_choice = true;
  row.outcome = benchmark.outcome;
  row.process = static_cast<std::int64_t>(process);
  row.started = started;
  if (benchmark.statistics) {
    row.summary = summary_of(*benchmark.statistics);
  } else if (benchmark.outcome.ok()) {
    row.samples = benchmark.samples;
    row.repetitions = benchmark.repetitions;
    row.summary = summarize(benchmark.samples);
  }
  return row;
}

/// Throws unless every benchmark is in each file and has samples enough.
void check_whole(std::span<const ForeignResults> processes, std::span<const std::string> files) {
  std::map<std::string, std::size_t> seen;
  std::map<std::string, std::size_t> samples;
  std::map<std::string, bool> failed;
  for (const ForeignResults& process : processes) {
    for (const ForeignBenchmark& benchmark : process.benchmarks) {
      ++seen[benchmark.name];
      samples[benchmark.name] += benchmark.statistics && benchmark.statistics->deviation
                                     ? benchmark.statistics->n
                                 : benchmark.statistics ? 1
                                                        : benchmark.samples.size();
      failed[benchmark.name] = failed[benchmark.name] || !benchmark.outcome.ok();
    }
  }
  for (const auto& [name, count] : seen) {
    if (count != processes.size()) {
      refuse(fmt::format("'{}' is in {} of the {} files: files of one run hold the same benchmarks",
                         name,
                         count,
                         processes.size()));
    }
    if (samples[name] < kLeastSamples && !failed[name]) {
      refuse(
          fmt::format("'{}' in '{}' has one sample, which says nothing of its noise: measure it "
                      "with repetitions (--benchmark_repetitions=10), or give the files of "
                      "several processes",
                      name,
                      files.front()));
    }
  }
}

}  // namespace

ForeignRun make_foreign_run(const ForeignName& name,
                            std::span<const ForeignResults> processes,
                            std::span<const std::string> files,
                            Timestamp now) {
  PLUMB_CHECK(!processes.empty() && processes.size() == files.size());
  check_suite_name(name.suite);
  check_whole(processes, files);
  const ForeignResults& first = processes.front();
  ForeignRun run;
  RunHeader& header = run.header;
  header.suite = name.suite;
  header.resolved_suite = nlohmann::json{{"external", name.format}, {"name", name.suite}}.dump();
  header.suite_hash = sha256(header.resolved_suite);
  header.backend = name.format;
  header.stack = "external";
  header.started = name.started.value_or(first.started.value_or(now));
  header.environment = {first.identity, first.facts};
  header.environment.identity["format"] = name.format;
  if (!name.version.empty()) {
    header.environment.facts["version"] = name.version;
  }
  if (!name.system.empty()) {
    header.environment.identity["host"] = name.system;
  }
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].identity != first.identity) {
      refuse(fmt::format("'{}' and '{}' were measured on unlike machines: one run has one machine",
                         files.front(),
                         files[i]));
    }
    const Timestamp started = processes[i].started.value_or(header.started);
    for (const ForeignBenchmark& benchmark : processes[i].benchmarks) {
      run.rows.push_back(row_of(benchmark, name.suite, i, started));
    }
  }
  return run;
}

}  // namespace plumb
