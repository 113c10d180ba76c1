// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/practical_floor.hpp"

#include <algorithm>
#include <set>

namespace plumb {
namespace {

constexpr double kDeviations = 3.0;

}  // namespace

std::string_view to_text(FloorSource source) {
  switch (source) {
    case FloorSource::kFixed:
      return "fixed";
    case FloorSource::kCalibrated:
      return "calibrated";
    case FloorSource::kAssumed:
      return "assumed";
  }
  return "assumed";
}

void CalibratedFloors::join(const CalibratedFloors& other) {
  for (const auto& [name, noise] : other.series) {
    CalibratedNoise& mine = series[name];
    mine.process = std::max(mine.process, noise.process);
    mine.floor = std::max(mine.floor, noise.floor);
  }
  std::set<std::string> all(runs.begin(), runs.end());
  all.insert(other.runs.begin(), other.runs.end());
  runs.assign(all.begin(), all.end());
}

PracticalFloor layer_floor(const CalibratedFloors& floors,
                           const std::string& series,
                           double least,
                           double assumed) {
  const auto calibrated = floors.series.find(series);
  return calibrated != floors.series.end()
             ? PracticalFloor{std::max({least, kLeastLayerFloor, calibrated->second.floor}),
                              FloorSource::kCalibrated}
             : PracticalFloor{std::max({least, kLeastLayerFloor, kDeviations * assumed}),
                              FloorSource::kAssumed};
}

}  // namespace plumb
