// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"

namespace plumb::importers {

/// The contents of a result file of another harness.
struct ImportedResults {
  /// Layer that a benchmark of another harness executes.
  struct Layer {
    model::LayerKey key;
    bool alone = true;  ///< no other benchmark executes it: its time is what a user gets
  };

  /// Moment as another tool wrote it.
  struct Date {
    Timestamp time{};
    bool has_zone = false;  ///< false: the text names no zone, and UTC is taken
  };

  /// Result of one benchmark of another harness, from one process. It has the samples, or mean and
  /// deviation if the harness keeps no samples, or the reason why there is no time.
  struct Benchmark {
    /// Summary statistics of samples that were not kept.
    struct Statistics {
      std::size_t n = 0;
      Seconds mean{};
      std::optional<Seconds> deviation;  ///< absent: too few samples for one
      std::optional<Seconds> min;
      std::optional<measure::Interval> interval =
          {};  ///< as the file gives it; else from the deviation
    };
    std::string name;
    results::Outcome outcome;
    std::vector<Seconds> samples;  ///< per execution
    std::int64_t repetitions = 1;  ///< executions in each sample
    std::optional<Statistics> statistics;
  };

  /// A run that is ready to be stored, once its header has an id.
  struct Run {
    /// Names under which results of another harness are stored.
    struct Name {
      std::string format;                ///< "google-benchmark", "nvbench": the backend of the run
      std::string suite;                 ///< letters, digits, '.', '_', '-'; part of every key
      std::string version;               ///< of what was measured: a fact; may be empty
      std::string system;                ///< the machine; empty: what the files say
      std::optional<Timestamp> started;  ///< absent: what the first file says
      std::map<std::string, Layer> keys = {};  ///< layers that benchmarks are
    };

    results::RunHeader header;
    std::vector<results::Measurement> rows;
  };

  results::Facts identity;            ///< what makes two files comparable: the machine
  results::Facts facts;               ///< everything else
  std::optional<Timestamp> started;   ///< absent: the file does not say, or `unread_date`
  std::string unread_date;            ///< what the file gives as its date and is no time
  std::string version;                ///< that was measured, such as a commit; may be empty
  std::size_t left_out = 0;           ///< values that are not times
  std::vector<Benchmark> benchmarks;  ///< each name once
};

/// Results of one suite at several moments: a run for each. In order of time.
using ImportedHistory = std::vector<ImportedResults>;

/// Limits on what is read from a file. The length of a name is in bytes.
inline constexpr std::size_t kMaxImportedBenchmarks = 100'000;
inline constexpr std::size_t kMaxImportedName = 1024;
inline constexpr std::size_t kMaxImportedRuns = 10'000;     ///< of one history
inline constexpr std::size_t kMaxImportedRows = 1'000'000;  ///< of all files of a command
inline constexpr std::int64_t kLastMillisecond = 253'402'300'799'000;  ///< of the year 9999

/// Refuses what a file says. Throws Error{kUser}.
[[noreturn]] void refuse(const std::string& what);

/// Returns a time from a file. Throws Error{kUser} unless it is positive and below 10⁷ s.
[[nodiscard]] Seconds imported_time(double seconds);

/// Returns the seconds of a unit of time: "ns", "us", "ms" or "s". Absent: it is no such unit.
[[nodiscard]] std::optional<double> unit_seconds(std::string_view unit);

/// Checks a benchmark's name: 1 to kMaxImportedName bytes without control characters. Throws
/// Error{kUser}.
void check_imported_name(const std::string& name);

/// Layers by the names of the benchmarks.
using KeyMapping = std::map<std::string, ImportedResults::Layer>;

/// Reads `{"keys":{"NAME":"LAYER KEY"}}`. Throws Error{kUser} with the name, if the text is no such
/// document, a name cannot be one (check_imported_name()) or a layer key is none. Pure.
[[nodiscard]] KeyMapping read_key_mapping(std::string_view text);

/// Makes one run of result files, each written by one process. Pure.
///
/// A row is one benchmark in one process, with the key `external:SUITE:NAME` (docs/adr/0006) or the
/// layer key that the mapping gives. Names with the same layer key are variants of it.
/// `files` names the files in messages. `now` is the start of the run if neither `name` nor the
/// first file gives one. The files may hold different benchmarks. Throws Error{kUser} for a bad
/// suite name, for files of unlike machines, for a date that is not a time, and if every benchmark
/// was skipped.
[[nodiscard]] ImportedResults::Run make_imported_run(const ImportedResults::Run::Name& name,
                                                     std::span<const ImportedResults> processes,
                                                     std::span<const std::string> files,
                                                     Timestamp now);

/// Parses a date with a time of day in the forms that tools write. These are RFC 3339 with an
/// offset, "2019-05-03 14:05:17", "2016/08/02-14:05:17", "2021.01.01 3:00:00 +0100" and whole
/// seconds or milliseconds since 1970. Absent: it is none of them. Pure.
[[nodiscard]] std::optional<ImportedResults::Date> parse_imported_date(std::string_view text);

}  // namespace plumb::importers
