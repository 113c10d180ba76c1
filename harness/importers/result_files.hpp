// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/importers/imported_run.hpp"

namespace plumb::importers {

/// Files of results in one format.
struct ResultFiles {
  /// Results that become one run: its processes, and the files they come from.
  struct Run {
    std::vector<ImportedResults> processes;
    std::vector<std::string> files;
    std::string digest;  ///< of what is in them
  };

  std::string format;  ///< one of result_formats()
  std::vector<std::string> files;
  std::string unit;                  ///< "ns", "us", "ms" or "s"; of formats that do not say it
  std::vector<std::string> metrics;  ///< columns to take; none: all
};

/// Reader of the bytes of a file. It refuses a file that has more than so many.
using ReadResultFile = std::function<std::string(const std::filesystem::path&, std::size_t)>;

inline constexpr std::size_t kMaxResultFile = std::size_t{64} << 20U;  ///< bytes

/// Lists the formats of results.
[[nodiscard]] std::vector<std::string> result_formats();

/// Reads files. All files of google-benchmark or nvbench are processes of one run. A file of
/// another format has a run for each moment. Throws Error{kUser} that names the file.
[[nodiscard]] std::vector<ResultFiles::Run> read_result_files(const ResultFiles& options,
                                                              const ReadResultFile& read_file);

/// Returns the names of a mapping that are no benchmark of any run.
[[nodiscard]] std::vector<std::string> unused_names(const KeyMapping& keys,
                                                    std::span<const ResultFiles::Run> runs);

/// Reads a JSON result file of Google Benchmark (`--benchmark_out_format=json`), of any version.
/// Pure.
///
/// Each repetition is a sample: its `real_time`, a mean over its iterations. A benchmark of which
/// there are only aggregates has their mean and deviation. Other aggregates and fits of complexity
/// are left out. A benchmark that ended with an error is kUnsupported with its message. A skipped
/// one is kSkipped. A date without a zone is taken as UTC, and the fact `benchmark.date` says so.
///
/// Throws Error{kUser}, with the place or the benchmark, if the text is not such a file, a time is
/// not positive, a repetition is missing or there twice, or there is no benchmark.
[[nodiscard]] ImportedResults read_google_benchmark(std::string_view text);

/// Reader of a sample file that a result file names. It returns at most so many bytes.
using ReadSampleFile = std::function<std::string(const std::string& name, std::size_t bytes)>;

/// Reads a result file of NVBench, written with `--jsonbin` or `--json`.
///
/// A state is one benchmark, named "BENCHMARK Device=0 AXIS=VALUE". Its time is that of isolated
/// launches on the GPU (cold), or else that of a benchmark of the CPU. With `--jsonbin` the samples
/// are read: 32-bit floats, little-endian. With `--json` there are only mean, deviation and
/// minimum. A skipped state is kSkipped with its reason. Throws Error{kUser} with the place in the
/// file.
[[nodiscard]] ImportedResults read_nvbench(std::string_view text, const ReadSampleFile& read_file);

/// Reads a result file of airspeed velocity (asv), version 2: the results of one commit. Pure.
///
/// - Benchmarks of time count: `time_…` and `timeraw_…`. Values of others are counted as left out.
/// - With parameters, each combination is a benchmark "name(first, second)".
/// - Samples are taken where they were kept. Otherwise the median is, with its 99% interval, which
///   is wider than the 95% of other rows. A median alone is one sample.
/// - A null is a benchmark that failed: kUnsupported. A NaN is one that was skipped.
/// - The machine is `params.machine` and its number of processors. The commit is the version.
///
/// Throws Error{kUser} with the benchmark, for a text that is no such file, and if it has no
/// benchmark of time.
[[nodiscard]] ImportedResults read_asv(std::string_view text);

/// Reads the `data.js` of github-action-benchmark, or the same document as JSON. Pure.
///
/// The entries of one commit are one run, in all suites of the file. With several suites, names are
/// "SUITE/NAME". A value is one sample, and a name that comes again in an entry is a repetition.
/// Values whose unit is not a time, such as "iter/sec", are counted as left out. `range` is left
/// out too: what it means differs from tool to tool.
///
/// Throws Error{kUser} with the place, for a text that is no such file, and if no value is a time.
[[nodiscard]] ImportedHistory read_benchmark_action(std::string_view text);

/// Reads a CSV file as Apache Otava analyses it: one line for each moment, with a column for the
/// time, columns of attributes and columns of metrics. Pure.
///
/// - The time is the column `time`, `timestamp` or `date` (parse_imported_date()).
/// - A column is a metric if each of its values is a number, and an attribute otherwise. `commit`,
///   `version`, `branch`, `run` and `build` are always attributes. `metrics` chooses columns by
///   name instead; empty: all.
/// - `commit`, or else `version`, is the version of the results. Other attributes are facts.
/// - A value is one sample, times `unit` seconds. An empty one, or NaN, was not measured.
///
/// Throws Error{kUser} that names line and column, for a text that is no such file, a value that is
/// not a time, and a metric that is not there.
[[nodiscard]] ImportedHistory read_otava(std::string_view text,
                                         double unit,
                                         std::span<const std::string> metrics);

}  // namespace plumb::importers
