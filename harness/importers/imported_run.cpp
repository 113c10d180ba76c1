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
#include "harness/stats/student_t.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMaxSuiteName = 100;
constexpr std::size_t kMinSamples = 2;
constexpr double kNormal90 = 1.281552;  // 90% quantile of the standard normal distribution

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Error::Kind::kUser, what);
}

void check_suite_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (name.empty() || name.size() > kMaxSuiteName || !plain) {
    refuse(fmt::format("'{}' cannot name a suite: 1 to {} letters, digits, '.', '_', '-'",
                       name.substr(0, kMaxSuiteName),
                       kMaxSuiteName));
  }
}

/// Summarizes samples of which only statistics were kept. The mean stands for the median, with
/// Student's t interval at 95%. The 90th percentile is that of a normal distribution.
SampleSummary summary_of(const ImportedBenchmark::Statistics& statistics) {
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

Measurement row_of(const ImportedBenchmark& benchmark,
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

/// Checks that every benchmark is in each file, and has kMinSamples samples over all files unless
/// it failed. Throws Error{kUser}.
void check_whole(std::span<const ImportedResults> processes, std::span<const std::string> files) {
  std::map<std::string, std::size_t> seen;
  std::map<std::string, std::size_t> samples;
  std::map<std::string, bool> failed;
  for (const ImportedResults& process : processes) {
    for (const ImportedBenchmark& benchmark : process.benchmarks) {
      ++seen[benchmark.name];
      // A mean without a deviation is worth one sample: nothing shows its noise.
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
    if (samples[name] < kMinSamples && !failed[name]) {
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

ImportedRun make_imported_run(const ImportedName& name,
                              std::span<const ImportedResults> processes,
                              std::span<const std::string> files,
                              Timestamp now) {
  PLUMB_CHECK(!processes.empty() && processes.size() == files.size());
  check_suite_name(name.suite);
  check_whole(processes, files);
  const ImportedResults& first = processes.front();
  ImportedRun run;
  RunHeader& header = run.header;
  header.suite = name.suite;
  header.resolved_suite =
      json_text(nlohmann::json{{"external", name.format}, {"name", name.suite}});
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
    for (const ImportedBenchmark& benchmark : processes[i].benchmarks) {
      run.rows.push_back(row_of(benchmark, name.suite, i, started));
    }
  }
  return run;
}

}  // namespace plumb
