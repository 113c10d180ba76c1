// SPDX-License-Identifier: Apache-2.0
//
// How long a matrix takes: a store of a million rows, written as 100 runs of 10,000 rows on five
// stacks. Each run has 30 models at three batches in eight modes, and keeps what it found of them.
// Then every run is read, made into a matrix, and written as HTML, by a store opened anew. Limit:
// 2 s. Prints n and the times of seven repetitions; exits 1 if their median is beyond the limit.
// PLUMB_BENCH_MATRIX_ROWS changes the number of rows. Makes about 300 MB below the folder for
// temporary files. Wants a quiet machine.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "harness/analysis/matrix/model_results.hpp"
#include "harness/results/execution.hpp"
#include "harness/session/stored/named_runs.hpp"
#include "harness/session/zoo/zoo_models.hpp"
#include "harness/store/store.hpp"
#include "reporting/content/matrix/matrix_documents.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kRowsPerRun = 10'000;
constexpr std::int64_t kStacks = 5;
constexpr int kModels = 30;
constexpr double kMaxSeconds = 2.0;

std::vector<results::Measurement> rows_of_run() {
  std::vector<results::Measurement> rows;
  rows.reserve(kRowsPerRun);
  for (std::int64_t i = 0; i < kRowsPerRun; ++i) {
    results::Measurement row;
    row.key = {
        fmt::format("v1:conv;in=f32[1,{0},56,56],f32[64,{0},3,3]c;out=f32[1,64,56,56];"
                    "acc=f32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];"
                    "strides=[1,1]",
                    1 + i / 10)};
    row.variant = fmt::format("impl=brgconv:avx512_core;layout={};algorithm=direct", i % 10);
    row.samples = {Seconds(2e-5), Seconds(2.1e-5), Seconds(2.2e-5)};
    row.summary = measure::summarize(row.samples);
    row.wall = Seconds(0.05);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<analysis::Estimate> around(double value) {
  return analysis::Estimate{value, value * 0.99, value * 1.01};
}

/// Makes what a run finds of its models: as many numbers as a real run has.
std::vector<analysis::ModelResults> results_of_run(std::mt19937_64& random) {
  std::lognormal_distribution<double> draw(-5.0, 1.0);
  std::vector<analysis::ModelResults> models;
  for (int model = 0; model < kModels; ++model) {
    for (const std::int64_t batch : {1, 8, 64}) {
      analysis::ModelResults results;
      results.instance = {
          .model = fmt::format("model-{}", model), .batch = batch, .dtype = "f32", .dims = {}};
      for (const results::ExecutionMode& mode : results::default_modes()) {
        const double time = draw(random);
        results.executions.push_back(
            {to_text(mode), {}, around(time), analysis::Estimate{time * 1.1, {}, {}}, false});
        results.predictions.push_back({to_text(mode), to_text(mode), around(1.5), ""});
      }
      using results::BoundKind;
      for (const BoundKind kind : {BoundKind::kHardware,
                                   BoundKind::kLibrary,
                                   BoundKind::kLibraryParallel,
                                   BoundKind::kBenanzaSequential,
                                   BoundKind::kBenanzaParallel}) {
        for (const char* const mode : {"plain", "fusion"}) {
          results.bounds.push_back({kind, mode, true, around(draw(random))});
        }
      }
      models.push_back(std::move(results));
    }
  }
  return models;
}

std::int64_t write_runs(const std::string& url, std::int64_t rows_wanted) {
  const auto store = store::open_store(url);
  const std::vector<results::Measurement> rows = rows_of_run();
  std::mt19937_64 random(1);
  std::int64_t stored = 0;
  for (std::int64_t number = 0; stored < rows_wanted; ++number) {
    results::RunHeader header;
    header.id = fmt::format("01J{:023}", number);
    header.suite = "bench";
    header.backend = "onednn";
    header.stack = fmt::format("stack-{}", number % kStacks);
    header.environment.identity = {
        {"cpu.model", "bench"}, {"threads", "1"}, {"library", header.stack}};
    header.started = parse_timestamp("2026-01-01T00:00:00Z") + std::chrono::hours(number);
    store->begin_run(header);
    store->append(header.id, rows);
    const results::DerivedRecord record{.run = header.id,
                                        .kind = results::kModelResultsRecord,
                                        .subject = header.environment.id(),
                                        .analysis_version = "bench",
                                        .inputs = {},
                                        .payload = to_json(results_of_run(random)),
                                        .computed = header.started};
    store->put_derived(std::span(&record, 1));
    store->finish_run(header.id, results::RunState::kFinished, header.started);
    stored += kRowsPerRun;
  }
  return stored;
}

struct MatrixTime {
  double seconds = 0.0;
  std::size_t runs = 0;
  std::size_t cells = 0;
};

MatrixTime time_matrix(const std::string& url) {
  const auto start = std::chrono::steady_clock::now();
  const session::ModelSource& models = session::zoo_models();
  const auto store = store::open_store(url);
  const std::vector<std::string> names{session::kAllRuns};
  analysis::MatrixReport report;
  report.runs = session::read_matrix_runs({*store, models}, names);
  report.matrix = analysis::make_matrix(
      report.runs, {.columns = analysis::Axis::kStack, .relative_to = analysis::kFirstColumn});
  report.commands = session::commands_for_missing(*store, report.runs, report.matrix);
  std::ostringstream page;
  reporting::format_for(reporting::matrix_formats(), "m.html").write(report, page);
  const auto end = std::chrono::steady_clock::now();
  return {std::chrono::duration<double>(end - start).count(),
          report.runs.size(),
          report.matrix.rows.size() * report.matrix.columns.size()};
}

int measure_matrix(const std::filesystem::path& folder) {
  const char* const wanted = std::getenv("PLUMB_BENCH_MATRIX_ROWS");
  const std::string url = "sqlite:" + (folder / "store.db").string();
  const std::int64_t rows = write_runs(url, wanted == nullptr ? 1'000'000 : std::atoll(wanted));
  std::vector<double> times;
  MatrixTime last;
  for (int repetition = 0; repetition < 7; ++repetition) {
    last = time_matrix(url);
    times.push_back(last.seconds);
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  fmt::print(
      "matrix: {} rows in {} runs to {} cells of HTML in {:.3f} s (limit {:.1f}; n = {}, {:.3f} to "
      "{:.3f})\n",
      rows,
      last.runs,
      last.cells,
      median,
      kMaxSeconds,
      times.size(),
      times.front(),
      times.back());
  return median <= kMaxSeconds ? 0 : 1;
}

}  // namespace
}  // namespace plumb

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("plumb-matrix-bench-{}", getpid());
  int status = 3;
  try {
    std::filesystem::create_directories(folder);
    status = plumb::measure_matrix(folder);
  } catch (const std::exception& error) {
    fmt::print("matrix_bench: {}\n", error.what());
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}
