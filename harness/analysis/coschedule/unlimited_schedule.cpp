// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/coschedule/unlimited_schedule.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

/// Steps in the order in which they start. What starts together is ordered by its end.
std::vector<std::size_t> by_start(const std::vector<UnlimitedSchedule::Place>& places) {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return std::tuple(places[one].begin, places[one].end) <
           std::tuple(places[other].begin, places[other].end);
  });
  return order;
}

/// Gives every step its lane, and returns the number of lanes.
std::size_t choose_lanes(std::span<const PartitionStep> steps,
                         const std::vector<std::vector<std::size_t>>& needs,
                         Seconds total,
                         std::vector<UnlimitedSchedule::Place>& places) {
  constexpr double kSlack = 1e-6;  // of the total: sums of equal times in another order
  std::vector<Seconds> busy_until;
  const auto is_free = [&](std::size_t lane, Seconds begin) {
    return lane >= busy_until.size() || busy_until[lane] <= begin + kSlack * total;
  };
  for (const std::size_t step : by_start(places)) {
    const Seconds begin = places[step].begin;
    std::size_t lane = steps[step].critical ? 0 : 1;
    if (!steps[step].critical) {
      const auto parent =
          std::find_if(needs[step].begin(), needs[step].end(), [&](std::size_t need) {
            return places[need].lane > 0 && is_free(places[need].lane, begin);
          });
      lane = parent == needs[step].end() ? lane : places[*parent].lane;
    }
    while (!is_free(lane, begin)) {
      ++lane;
    }
    busy_until.resize(std::max(busy_until.size(), lane + 1));
    busy_until[lane] = places[step].end;
    places[step].lane = lane;
  }
  return busy_until.size();
}

}  // namespace

UnlimitedSchedule schedule_without_limits(std::span<const PartitionStep> steps,
                                          const std::vector<std::vector<std::size_t>>& needs) {
  PLUMB_CHECK(needs.size() == steps.size());
  UnlimitedSchedule schedule;
  schedule.timed = std::any_of(
      steps.begin(), steps.end(), [](const PartitionStep& step) { return step.time.has_value(); });
  schedule.places.resize(steps.size());
  for (std::size_t step = 0; step < steps.size(); ++step) {
    UnlimitedSchedule::Place& place = schedule.places[step];
    for (const std::size_t need : needs[step]) {
      PLUMB_CHECK(need < step);
      place.begin = std::max(place.begin, schedule.places[need].end);
    }
    const Seconds time = steps[step].time ? steps[step].time->time.median : Seconds(0.0);
    place.end = place.begin + (schedule.timed ? time : Seconds(1.0));
    schedule.total = std::max(schedule.total, place.end);
  }
  schedule.lanes = choose_lanes(steps, needs, schedule.total, schedule.places);
  return schedule;
}

}  // namespace plumb::analysis
