// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/imported_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::importers {

void refuse(const std::string& what) {
  throw Error(Error::Kind::kUser, what);
}

Seconds imported_time(double seconds) {
  constexpr double kLongest = 1e7;
  if (!(seconds > 0.0 && seconds < kLongest)) {
    throw Error(Error::Kind::kUser,
                fmt::format("the time {} s is not positive and below {} s", seconds, kLongest));
  }
  return Seconds(seconds);
}

std::optional<double> unit_seconds(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}};
  const auto* const found = std::find_if(
      kUnits.begin(), kUnits.end(), [&](const auto& known) { return known.first == unit; });
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

void check_imported_name(const std::string& name) {
  const bool control = std::any_of(
      name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20U; });
  if (name.empty() || name.size() > kMaxImportedName || control) {
    throw Error(Error::Kind::kUser,
                fmt::format("a benchmark's name has 1 to {} bytes and no control characters",
                            kMaxImportedName));
  }
}

KeyMapping read_key_mapping(std::string_view text) {
  const nlohmann::json document = results::parse_json(text);
  KeyMapping mapping;
  std::map<model::LayerKey, std::size_t> uses;
  for (const auto& [name, key] : results::JsonObject(document).facts("keys")) {
    try {
      check_imported_name(name);
      ImportedResults::Layer& layer = mapping[name];
      layer.key = model::to_key(model::parse_key({key}));
      ++uses[layer.key];
    } catch (const Error& error) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}': {}", name.substr(0, kMaxImportedName), error.what()));
    }
  }
  if (mapping.empty()) {
    throw Error(Error::Kind::kUser, "field 'keys' maps no name to a layer key");
  }
  for (auto& [name, layer] : mapping) {
    layer.alone = uses.at(layer.key) == 1;
  }
  return mapping;
}

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
measure::SampleSummary summarize_statistics(
    const ImportedResults::Benchmark::Statistics& statistics) {
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

results::Measurement make_row(const ImportedResults::Benchmark& benchmark,
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
    for (const ImportedResults::Benchmark& benchmark : process.benchmarks) {
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
Timestamp find_start(const ImportedResults::Run::Name& name,
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

ImportedResults::Run make_imported_run(const ImportedResults::Run::Name& name,
                                       std::span<const ImportedResults> processes,
                                       std::span<const std::string> files,
                                       Timestamp now) {
  PLUMB_CHECK(!processes.empty() && processes.size() == files.size());
  check_suite_name(name.suite);
  check_something(processes, files);
  const ImportedResults& first = processes.front();
  ImportedResults::Run run;
  results::RunHeader& header = run.header;
  header.suite = name.suite;
  header.resolved_suite =
      json_text(nlohmann::json{{"external", name.format}, {"name", name.suite}});
  header.suite_hash = sha256(header.resolved_suite);
  header.backend = name.format;
  header.stack = results::kExternalStack;
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
    for (const ImportedResults::Benchmark& benchmark : processes[i].benchmarks) {
      run.rows.push_back(make_row(benchmark, name.suite, name.keys, i, started));
    }
  }
  return run;
}

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reader of a text from its beginning.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  /// Takes `least` to `most` digits. Absent: there are fewer.
  std::optional<int> number(std::size_t least, std::size_t most) {
    std::size_t count = 0;
    while (count < most && count < rest_.size() && is_digit(rest_[count])) {
      ++count;
    }
    int value = 0;
    if (count < least) {
      return std::nullopt;
    }
    std::from_chars(rest_.data(), rest_.data() + count, value);
    rest_.remove_prefix(count);
    return value;
  }

  /// Takes one of the characters. '\0': none of them is next.
  char one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) {
      return '\0';
    }
    const char taken = rest_.front();
    rest_.remove_prefix(1);
    return taken;
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// Reads a count of seconds, or with 12 digits and more of milliseconds, since 1970.
std::optional<ImportedResults::Date> since_1970(std::string_view text) {
  constexpr std::size_t kLongest = 14;
  constexpr std::size_t kMilliseconds = 12;
  std::int64_t count = 0;
  if (text.size() < 9 || text.size() > kLongest ||
      !std::all_of(text.begin(), text.end(), is_digit)) {
    return std::nullopt;
  }
  std::from_chars(text.data(), text.data() + text.size(), count);
  const std::int64_t unit = text.size() >= kMilliseconds ? 1'000 : 1'000'000;
  return ImportedResults::Date{Timestamp(std::chrono::microseconds(count * unit)), true};
}

/// Reads the offset from UTC at the end of a date, in minutes. Zero: UTC, or there is no zone.
std::optional<int> offset_in(Cursor& text, bool& has_zone) {
  static_cast<void>(text.one_of(" "));
  has_zone = !text.rest().empty();
  if (!has_zone || text.rest() == "Z" || text.rest() == "UTC") {
    return 0;
  }
  const char sign = text.one_of("+-");
  const auto hours = text.number(2, 2);
  static_cast<void>(text.one_of(":"));
  const auto minutes = text.number(2, 2);
  if (sign == '\0' || !hours || !minutes || *hours > 23 || *minutes > 59 || !text.rest().empty()) {
    return std::nullopt;
  }
  return (sign == '-' ? -1 : 1) * (*hours * 60 + *minutes);
}

}  // namespace

std::optional<ImportedResults::Date> parse_imported_date(std::string_view text) {
  if (auto count = since_1970(text)) {
    return count;
  }
  Cursor cursor(text);
  const auto year = cursor.number(4, 4);
  const char between = cursor.one_of("-/.");
  const auto month = cursor.number(1, 2);
  const bool same = between != '\0' && cursor.one_of(std::string_view(&between, 1)) != '\0';
  const auto day = cursor.number(1, 2);
  const bool timed = cursor.one_of("T -") != '\0';
  const auto hour = cursor.number(1, 2);
  const bool colon = cursor.one_of(":") != '\0';
  const auto minute = cursor.number(2, 2);
  if (!year || !month || !same || !day || !timed || !hour || !colon || !minute) {
    return std::nullopt;
  }
  std::string seconds = "00";
  if (cursor.one_of(":") != '\0') {
    const auto whole = cursor.number(2, 2);
    if (!whole) {
      return std::nullopt;
    }
    seconds = fmt::format("{:02}", *whole);
    if (cursor.one_of(".") != '\0') {
      const std::size_t before = cursor.rest().size();
      const auto fraction = cursor.number(1, 6);
      if (!fraction) {
        return std::nullopt;
      }
      seconds += fmt::format(".{:0{}}", *fraction, before - cursor.rest().size());
      while (!cursor.rest().empty() && is_digit(cursor.rest().front())) {
        static_cast<void>(cursor.number(1, 1));
      }
    }
  }
  ImportedResults::Date date;
  const auto offset = offset_in(cursor, date.has_zone);
  if (!offset) {
    return std::nullopt;
  }
  try {
    date.time =
        parse_timestamp(fmt::format(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{}Z", *year, *month, *day, *hour, *minute, seconds)) -
        std::chrono::minutes(*offset);
  } catch (const Error&) {
    return std::nullopt;
  }
  return date;
}

}  // namespace plumb::importers
