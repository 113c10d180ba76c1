// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/replicated_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/results/execution.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/session/stored/stored_noise.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

using Process = analysis::ReplicatedMetric::Process;
using Rounds = std::map<std::int64_t, Process>;

/// One metric of one run: its kind, its processes by round, and the resolution.
struct Side {
  analysis::MetricKind kind = analysis::MetricKind::kLayer;
  Rounds rounds;
  double resolution = 0.0;
};

double tick_of(const results::Environment& environment) {
  double tick = 0.0;
  const auto fact = environment.facts.find("measure.timer_tick_seconds");
  if (fact != environment.facts.end()) {
    const std::string& text = fact->second;
    std::from_chars(text.data(), text.data() + text.size(), tick);
  }
  return tick;
}

Process make_process(const results::Measurement& row, const std::string& day) {
  Process process{day, {}};
  if (row.outcome.timed()) {
    for (const Seconds sample : row.samples) {
      process.samples.push_back((sample - row.floor).count());
    }
  }
  return process;
}

std::map<std::string, Side> read_sides(const store::Store& store, const results::RunRecord& run) {
  std::map<std::string, Side> sides;
  const std::string day = to_text(run.header.started).substr(0, 10);
  const double tick = tick_of(run.header.environment);
  for (const results::StoredMeasurement& stored : store.measurements(run.header.id)) {
    const results::Measurement& row = stored.measurement;
    if (row.purpose == results::Purpose::kFull && row.cache == results::CacheMode::kNone &&
        !stored.reused) {
      Side& side = sides[results::layer_series(row.key.text)];
      side.kind = analysis::MetricKind::kLayer;
      side.rounds[row.process] = make_process(row, day);
      side.resolution = std::max(
          side.resolution, tick / static_cast<double>(std::max<std::int64_t>(1, row.repetitions)));
    }
  }
  for (const results::DerivedRecord& record : store.derived(run.header.id, "paired_execution")) {
    const results::Execution execution = results::execution_from_json(record.payload);
    Side& side = sides[results::model_series(
        record.subject, results::SeriesKind::kEndToEnd, execution.mode, execution.scenario)];
    side.kind = analysis::MetricKind::kEndToEnd;
    side.rounds[execution.row.process] = make_process(execution.row, day);
  }
  return sides;
}

}  // namespace

std::vector<SelfComparison> stored_calibrations(const store::Store& store,
                                                const results::RunHeader& like) {
  std::vector<SelfComparison> found;
  for (const results::RunRecord& run : store.runs()) {
    if (run.header.suite == like.suite && run.header.environment.id() == like.environment.id()) {
      for (const results::DerivedRecord& record : store.derived(run.header.id, kNoiseRecord)) {
        const nlohmann::json document = results::parse_json(record.payload);
        const std::string& second = results::JsonObject(document).text("second_run");
        found.push_back({store.find_run(run.header.id), store.find_run(second)});
      }
    }
  }
  std::erase_if(found, [&](const SelfComparison& each) {
    return !measure_the_same(each.first.header, like);
  });
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<analysis::ReplicatedMetric> replicated_metrics(
    const store::Store& store, std::span<const SelfComparison> calibrations) {
  std::map<std::string, analysis::ReplicatedMetric> metrics;
  for (const SelfComparison& calibration : calibrations) {
    std::map<std::string, Side> second = read_sides(store, calibration.second);
    for (auto& [series, side] : read_sides(store, calibration.first)) {
      analysis::ReplicatedMetric& metric = metrics[series];
      metric.series = series;
      metric.kind = side.kind;
      metric.resolution = std::max({metric.resolution, side.resolution, second[series].resolution});
      for (auto& [round, process] : side.rounds) {
        metric.pairs.emplace_back(std::move(process), std::move(second[series].rounds[round]));
      }
    }
  }
  std::vector<analysis::ReplicatedMetric> result;
  for (auto& [series, metric] : metrics) {
    result.push_back(std::move(metric));
  }
  return result;
}

}  // namespace plumb::session
