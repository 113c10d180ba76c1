// SPDX-License-Identifier: Apache-2.0
//
// How long `plumb whatif` takes for the thirty vision models: a store filled with a row of the
// library's choice and of a faster variant for every key, plain and fused, in f32, bf16, f16 and 8
// bits, with two threads and with one. Then the run is read and all its what-ifs, combinations and
// schedules are computed, by a store opened anew. Limit: 1 s. Prints n and the times of seven
// repetitions, and the part that reads the graphs. Then how long it takes to divide one total of
// workspace among 60 layers of five choices each (µ-cuDNN's WD). Limit: 100 ms. Exits 1 if a median
// is beyond its limit. Wants a quiet machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/micro_batch/layer_division.hpp"
#include "harness/base/error.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/session/zoo/zoo_models.hpp"
#include "harness/store/store.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb {
namespace {

constexpr double kMaxSeconds = 1.0;
constexpr int kRepetitions = 7;

results::Measurement row_of(const model::LayerKey& key, const char* variant, double seconds) {
  results::Measurement row;
  row.key = key;
  row.variant = variant;
  row.samples = {Seconds(seconds * 0.99), Seconds(seconds), Seconds(seconds * 1.01)};
  row.summary = measure::summarize(row.samples);
  return row;
}

/// Makes the rows of all keys with a number of threads. Two threads are 1.6 times as fast as one.
std::vector<results::Measurement> rows_with(const std::vector<session::WorkSource::Item>& items,
                                            int threads) {
  std::vector<results::Measurement> rows;
  for (const session::WorkSource::Item& item : items) {
    const double alone = 2e-6 + item.weight / static_cast<double>(item.occurrences) * 2e-11;
    const double seconds = threads == 1 ? alone : alone / 1.6;
    rows.push_back(row_of(item.key, "impl=chosen;layout=any", seconds * 1.1));
    rows.back().library_choice = true;
    rows.push_back(row_of(item.key, "impl=fast;layout=any", seconds));
  }
  return rows;
}

/// Lists every key of the models in all types that what-ifs ask about.
std::vector<session::WorkSource::Item> all_items(const std::vector<session::PlannedModel>& models) {
  std::vector<session::PlannedModel> typed;
  for (const session::PlannedModel& model : models) {
    for (const char* const type : {"f32", "bf16", "f16", "int8"}) {
      typed.push_back({model.instance, rewrite::typed_graph(model.graph, type)});
    }
  }
  const std::vector<results::CacheMode> caches{results::CacheMode::kNone};
  return session::work_items(typed, {}, caches, session::WorkSource::Shard{});
}

/// Fills a store with a run with each number of threads. Returns the last.
results::RunId fill(const std::string& url, std::size_t& rows_stored) {
  const session::ModelSource& source = session::zoo_models();
  suite::ResolvedSuite suite =
      session::resolve_suite(source, suite::read_suite(PLUMB_SUITES "/vision30.toml"));
  const std::vector<session::PlannedModel> models = session::prepare_models(source, suite);
  const std::vector<session::WorkSource::Item> items = all_items(models);
  const auto store = store::open_store(url);
  results::RunHeader header;
  for (const int threads : {1, 2}) {
    header.id = fmt::format("01J{:023}", threads);
    header.suite = suite.name;
    header.resolved_suite = session::suite_for_store(suite, models);
    header.backend = "fake";
    header.stack = "default";
    header.environment.identity = {{"cpu.model", "bench"}, {"threads", std::to_string(threads)}};
    header.command = {"plumb", "run", "vision30"};
    header.started = parse_timestamp("2026-01-01T00:00:00Z") + std::chrono::hours(threads);
    store->begin_run(header);
    const std::vector<results::Measurement> rows = rows_with(items, threads);
    rows_stored += rows.size();
    store->append(header.id, rows);
    store->finish_run(header.id, results::RunState::kFinished, header.started);
  }
  return header.id;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct WhatIfTime {
  double all = 0.0;
  double graphs = 0.0;  ///< of it: reading the models' graphs
  std::size_t models = 0;
  std::size_t predicted = 0;
};

WhatIfTime time_what_ifs(const std::string& url, const results::RunId& run) {
  WhatIfTime time;
  const auto start = std::chrono::steady_clock::now();
  const session::ModelSource& source = session::zoo_models();
  const auto store = store::open_store(url);
  const analysis::RunReport report =
      session::analyze_run({*store, source}, store->find_run(run), {});
  std::ostringstream text;
  reporting::write_what_ifs(report, reporting::OutputMode::kText, text);
  time.all = seconds_since(start);
  const auto graphs = std::chrono::steady_clock::now();
  static_cast<void>(session::read_stored_models(source, store->find_run(run)));
  time.graphs = seconds_since(graphs);
  time.models = report.models.size();
  for (const analysis::RunReport::Model& model : report.models) {
    time.predicted += static_cast<std::size_t>(std::count_if(
        model.whatifs.whatifs.begin(), model.whatifs.whatifs.end(), [](const auto& each) {
          return predicted_saving(each).has_value();
        }));
  }
  return time;
}

int measure_what_ifs(const std::filesystem::path& folder) {
  const std::string url = "sqlite:" + (folder / "store.db").string();
  std::size_t rows = 0;
  const results::RunId run = fill(url, rows);
  std::vector<double> times;
  WhatIfTime last;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    last = time_what_ifs(url, run);
    times.push_back(last.all);
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  fmt::print(
      "what-ifs: {} predictions for {} models from {} rows in {:.3f} s (limit {:.1f}; n = {}, "
      "{:.3f} "
      "to {:.3f}; reading the graphs alone {:.3f} s)\n",
      last.predicted,
      last.models,
      rows,
      median,
      kMaxSeconds,
      times.size(),
      times.front(),
      times.back(),
      last.graphs);
  return median <= kMaxSeconds ? 0 : 1;
}

/// Times WD on instances in which faster choices tend to hold more workspace.
int measure_assignments() {
  constexpr double kMaxAssignment = 0.1;
  constexpr int kInstances = 21;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(0.0, 1.0);
  std::vector<double> times;
  for (int instance = 0; instance < kInstances; ++instance) {
    std::vector<std::vector<analysis::LayerDivision::Assignment::Choice>> layers(60);
    for (std::vector<analysis::LayerDivision::Assignment::Choice>& choices : layers) {
      for (int i = 0; i < 5; ++i) {
        const double size = number(random);
        choices.push_back({Seconds(1e-3 / (0.1 + size * number(random))),
                           {static_cast<std::int64_t>(1e8 * size)}});
      }
    }
    const auto start = std::chrono::steady_clock::now();
    PLUMB_CHECK(analysis::assign_workspaces(layers, {1'500'000'000}).has_value());
    times.push_back(seconds_since(start));
  }
  std::sort(times.begin(), times.end());
  fmt::print(
      "workspaces: 60 layers of 5 choices in {:.1f} ms (limit {:.0f}; n = {}, {:.1f} to {:.1f})\n",
      1e3 * times[times.size() / 2],
      1e3 * kMaxAssignment,
      times.size(),
      1e3 * times.front(),
      1e3 * times.back());
  return times[times.size() / 2] <= kMaxAssignment ? 0 : 1;
}

}  // namespace
}  // namespace plumb

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("plumb-what-ifs-bench-{}", getpid());
  int status = 3;
  try {
    std::filesystem::create_directories(folder);
    status = std::max(plumb::measure_what_ifs(folder), plumb::measure_assignments());
  } catch (const std::exception& error) {
    fmt::print("what_ifs_bench: {}\n", error.what());
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}
