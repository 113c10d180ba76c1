// SPDX-License-Identifier: Apache-2.0
//
// How fast a store takes rows and answers for them: 5 million rows of 1,000 layers, each with 20
// raw samples, appended in batches to runs of 10,000 rows. Then, each by a store opened anew: the
// rows of the newest run, which have the newest times of all layers; one layer over all runs; the
// first look of an exporter. Limits: 200,000 rows a second; 50 ms; 50 ms; 1 s. Prints all; exits 1
// if one is missed. PLUMB_BENCH_STORE_ROWS changes the number of rows (0: the store is there),
// PLUMB_BENCH_STORE_SAMPLES that of samples, and PLUMB_BENCH_STORE_URL names another store, whose
// rate is for the caller to judge. Makes about 1.5 GB below the folder for temporary files. Wants a
// quiet machine.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "harness/serve/store_metrics.hpp"
#include "harness/session/zoo/zoo_models.hpp"
#include "harness/store/store.hpp"

namespace plumb::store {
namespace {

constexpr std::int64_t kLayers = 1000;
constexpr std::int64_t kRowsPerRun = 10'000;
constexpr std::size_t kRowsPerBatch = 5'000;
constexpr double kMinRowsPerSecond = 200'000;
constexpr double kMaxRunRows = 0.050;
constexpr double kMaxSeries = 0.050;
constexpr double kMaxFirstLook = 1.0;
constexpr int kRepetitions = 7;

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Returns the number in a variable.
std::int64_t wanted(const char* variable, std::int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

model::LayerKey key_of(std::int64_t layer) {
  return {
      fmt::format("v1:conv;in=f32[1,{0},56,56],f32[64,{0},3,3]c,f32[64]c;out=f32[1,64,56,56];"
                  "acc=f32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]",
                  layer)};
}

/// Makes one run's rows: each layer ten times, as several variants.
std::vector<results::Measurement> rows_of_run(std::mt19937_64& random) {
  std::vector<results::Measurement> rows;
  rows.reserve(kRowsPerRun);
  std::normal_distribution<double> noise(0.0, 0.01);
  const std::int64_t samples = wanted("PLUMB_BENCH_STORE_SAMPLES", 20);
  for (std::int64_t i = 0; i < kRowsPerRun; ++i) {
    results::Measurement row;
    row.key = key_of(i * kLayers / kRowsPerRun);
    row.variant = fmt::format("impl=brgconv:avx512_core;layout={};algorithm=direct", i % 10);
    const double nanoseconds = 20'000.0 + static_cast<double>(i % 997) * 1'000.0;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      row.samples.emplace_back(std::round(nanoseconds * (1.0 + noise(random))) * 1e-9);
    }
    row.summary = measure::summarize(row.samples);
    row.floor = Seconds(3.1e-8);
    row.creation = Seconds(0.0012345);
    row.first_call = Seconds(0.0000456);
    row.workspace = Bytes{1 << 20};
    row.maximum_error = 3.4e-7;
    row.output_hash = "9f86d081884c7d65";
    row.disturbance = {1, 0.001, 0.4, 0.02, false};
    row.wall = Seconds(0.05);
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Figures {
  double rows_per_second = 0.0;
  double rows_per_processor_second = 0.0;
};

Figures append_runs(Store& store, std::int64_t rows_wanted) {
  std::mt19937_64 random(1);
  double wall = 0.0;
  double processor = 0.0;
  const Timestamp first = parse_timestamp("2026-01-01T00:00:00Z");
  const std::vector<results::Measurement> rows = rows_of_run(random);
  std::int64_t stored = 0;
  for (std::int64_t number = 0; stored < rows_wanted; ++number) {
    results::RunHeader header;
    header.id = fmt::format("01J{:023}", number);
    header.suite = "bench";
    header.backend = "onednn";
    header.stack = "default";
    header.environment.identity = {{"cpu.model", "bench"}};
    header.started = first + std::chrono::hours(number);
    const Stopwatch watch;
    const double before = processor_seconds();
    store.begin_run(header);
    for (std::size_t at = 0; at < rows.size(); at += kRowsPerBatch) {
      store.append(header.id,
                   std::span(rows).subspan(at, std::min(kRowsPerBatch, rows.size() - at)));
    }
    store.finish_run(header.id, results::RunState::kFinished, header.started);
    wall += watch.seconds();
    processor += processor_seconds() - before;
    stored += kRowsPerRun;
    if (stored % 500'000 == 0) {
      fmt::print(stderr, "{} rows, {:.0f} a second\n", stored, static_cast<double>(stored) / wall);
    }
  }
  return {static_cast<double>(stored) / wall, static_cast<double>(stored) / processor};
}

/// Prints the median of a few times of an answer, each by a store opened anew. Returns whether it
/// is within the limit.
bool judge(const char* what, double limit, const std::function<double()>& answer) {
  std::vector<double> times;
  double processor = processor_seconds();
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    times.push_back(answer());
  }
  processor = (processor_seconds() - processor) / kRepetitions;
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  fmt::print("store: {} in {:.1f} ms (limit {:.0f}; {:.1f} to {:.1f}, {:.1f} of processor time)\n",
             what,
             median * 1e3,
             limit * 1e3,
             times.front() * 1e3,
             times.back() * 1e3,
             processor * 1e3);
  return median <= limit;
}

double read_newest_run(const std::string& url) {
  const auto store = open_store(url);
  const Stopwatch watch;
  if (store->measurements(store->find_run("@latest").header.id).size() != kRowsPerRun) {
    throw std::runtime_error("the newest run lacks rows");
  }
  return watch.seconds();
}

double read_series(const std::string& url) {
  const auto store = open_store(url);
  const Stopwatch watch;
  if (store->series({.key = key_of(kLayers / 2).text, .environment = {}}).empty()) {
    throw std::runtime_error("a layer has no times");
  }
  return watch.seconds();
}

/// Returns how long an exporter needs from opening the store to its metrics.
double first_look(const std::string& url) {
  const Stopwatch watch;
  const session::ModelSource& models = session::zoo_models();
  serve::MetricsPublisher::Collector collector(
      {.store_url = url, .version = "bench", .max_age = {}}, models);
  if (!collector.refresh(current_time()) || !collector.health().up) {
    throw std::runtime_error("the exporter cannot read the store: " + collector.problem());
  }
  return watch.seconds();
}

int measure(const std::filesystem::path& folder) {
  const std::int64_t rows = wanted("PLUMB_BENCH_STORE_ROWS", 5'000'000);
  const char* const named = std::getenv("PLUMB_BENCH_STORE_URL");
  const std::string url = named == nullptr ? "sqlite:" + (folder / "store.db").string() : named;
  Figures figures;
  {
    const auto store = open_store(url);
    figures = append_runs(*store, rows);
  }
  bool kept = true;
  if (rows > 0) {
    fmt::print(
        "store: {} rows appended at {:.0f} rows a second (limit {:.0f}); {:.0f} by processor "
        "time\n",
        rows,
        figures.rows_per_second,
        kMinRowsPerSecond,
        figures.rows_per_processor_second);
    kept = named != nullptr || figures.rows_per_second >= kMinRowsPerSecond;
  }
  kept &= judge("rows of the newest run", kMaxRunRows, [&] { return read_newest_run(url); });
  kept &= judge("one layer over all runs", kMaxSeries, [&] { return read_series(url); });
  kept &= judge("first look of an exporter", kMaxFirstLook, [&] { return first_look(url); });
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace plumb::store

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("plumb-store-bench-{}", getpid());
  int status = 3;
  try {
    std::filesystem::create_directories(folder);
    status = plumb::store::measure(folder);
  } catch (const std::exception& error) {
    fmt::print("store_bench: {}\n", error.what());
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}
