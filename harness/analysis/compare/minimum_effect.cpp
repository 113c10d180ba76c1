// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/minimum_effect.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace plumb::analysis {
namespace {

constexpr double kDeviations = 3.0;

}  // namespace

std::string_view to_text(FloorSource source) {
  switch (source) {
    case FloorSource::kFixed:
      return "fixed";
    case FloorSource::kCalibrated:
      return "calibrated";
    case FloorSource::kLearned:
      return "learned";
    case FloorSource::kAssumed:
      return "assumed";
  }
  return "assumed";
}

void CalibratedFloors::join(const CalibratedFloors& other) {
  for (const auto& [name, noise] : other.series) {
    CalibratedFloors::Noise& mine = series[name];
    mine.process = std::max(mine.process, noise.process);
    mine.floor = std::max(mine.floor, noise.floor);
  }
  std::set<std::string> all(runs.begin(), runs.end());
  all.insert(other.runs.begin(), other.runs.end());
  runs.assign(all.begin(), all.end());
}

MinimumEffect run_floor(const CalibratedFloors& floors, const std::string& series, double least) {
  constexpr double kRunDeviations = 2.0;
  const RunDeviation run = floors.learned.of(series);
  const double of_runs = kRunDeviations * std::sqrt(2.0) * run.relative;
  const auto calibrated = floors.series.find(series);
  if (calibrated == floors.series.end()) {
    return {std::max(least, of_runs), run.learned ? FloorSource::kLearned : FloorSource::kAssumed};
  }
  // A calibration replaces what is assumed about runs, but not what was learned.
  MinimumEffect floor{std::max(least, calibrated->second.floor), FloorSource::kCalibrated};
  if (run.learned && of_runs > floor.relative) {
    floor = {of_runs, FloorSource::kLearned};
  }
  return floor;
}

MinimumEffect layer_floor(const CalibratedFloors& floors,
                          const std::string& series,
                          double least,
                          double assumed) {
  const auto calibrated = floors.series.find(series);
  return calibrated != floors.series.end()
             ? MinimumEffect{std::max({least, kMinLayerFloor, calibrated->second.floor}),
                             FloorSource::kCalibrated}
             : MinimumEffect{std::max({least, kMinLayerFloor, kDeviations * assumed}),
                             FloorSource::kAssumed};
}

}  // namespace plumb::analysis
