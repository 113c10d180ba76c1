// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/coschedule/co_schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/rewrite/wavefront_schedule.hpp"

namespace plumb::analysis {
namespace {

/// Graph of the layers, with the step that each belongs to.
class StepGraph {
 public:
  StepGraph(const model::Graph& graph, const std::vector<PartitionStep>& steps)
      : before_(model::predecessors(graph)), step_of_(graph.layers.size()) {
    for (std::size_t step = 0; step < steps.size(); ++step) {
      for (const model::LayerId layer : steps[step].layers) {
        step_of_[layer] = step;
      }
    }
  }

  /// Finds the steps that produce what the layers of a step read.
  [[nodiscard]] std::vector<std::size_t> needs_of(const PartitionStep& step) const {
    std::vector<model::LayerId> open(step.layers);
    const std::set<model::LayerId> own(step.layers.begin(), step.layers.end());
    std::set<model::LayerId> seen = own;
    std::set<std::size_t> found;
    while (!open.empty()) {
      const model::LayerId layer = open.back();
      open.pop_back();
      for (const model::LayerId producer : before_[layer]) {
        if (!seen.insert(producer).second) {
          continue;
        }
        if (step_of_[producer]) {
          found.insert(*step_of_[producer]);
        } else {
          open.push_back(producer);
        }
      }
    }
    return {found.begin(), found.end()};
  }

 private:
  std::vector<std::vector<model::LayerId>> before_;
  std::vector<std::optional<std::size_t>> step_of_;
};

}  // namespace

std::vector<std::vector<std::size_t>> step_needs(const model::Graph& graph,
                                                 const std::vector<PartitionStep>& steps) {
  const StepGraph layers(graph, steps);
  std::vector<std::vector<std::size_t>> needs;
  needs.reserve(steps.size());
  for (const PartitionStep& step : steps) {
    needs.push_back(layers.needs_of(step));
  }
  return needs;
}

void CoSchedule::Scaling::add(std::size_t threads, std::vector<results::StoredMeasurement> rows) {
  if (threads > 0 && threads < processors_ && !rows.empty() && by_threads_.size() < kMaxCounts) {
    by_threads_.try_emplace(threads, std::move(rows));
  }
}

namespace {

/// A step's hot time with a number of threads.
struct ScaledTime {
  std::size_t threads = 1;
  KeyTime time;
};

/// Steps of a partition as tasks. A choice of a task is a time of the step.
struct ScaledSteps {
  std::vector<std::vector<ScaledTime>> times;  ///< by step, as the tasks' choices
  std::vector<rewrite::WavefrontSchedule::Task> tasks;
  std::set<std::size_t> lacking;  ///< thread counts with which some step has no time
  std::size_t unmeasured = 0;     ///< steps without any time: they take none
};

ScaledSteps scale_steps(const model::Graph& graph,
                        const std::vector<PartitionStep>& steps,
                        const CoSchedule::Scaling& scaling) {
  ScaledSteps scaled;
  const std::vector<std::vector<std::size_t>> needs = step_needs(graph, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<ScaledTime>& times = scaled.times.emplace_back();
    for (const auto& [threads, results] : scaling.by_threads()) {
      if (auto time = results.best(steps[i].key, results::CacheMode::kNone)) {
        times.push_back({threads, std::move(*time)});
      } else if (steps[i].time) {
        scaled.lacking.insert(threads);
      }
    }
    if (steps[i].time) {
      times.push_back({scaling.processors(), *steps[i].time});
    } else {
      times.clear();  // a bound of this run rests on this run's own time of every step
      ++scaled.unmeasured;
    }
    rewrite::WavefrontSchedule::Task& task = scaled.tasks.emplace_back();
    task.after = needs[i];
    for (const ScaledTime& time : times) {
      task.choices.push_back({time.threads, time.time.time.median.count()});
    }
    if (times.empty()) {
      task.choices.push_back({});
    }
  }
  return scaled;
}

PartitionStep step_with(PartitionStep step, const KeyTime& time, double factor) {
  step.time = time;
  step.time->time.median *= factor;
  step.time->time.interval.low *= factor;
  step.time->time.interval.high *= factor;
  return step;
}

/// Returns the steps by a choice of each, with its share of all processors if they are shared.
/// Steps without a time stay without one.
std::vector<PartitionStep> steps_with(const std::vector<PartitionStep>& steps,
                                      const ScaledSteps& scaled,
                                      const std::vector<std::size_t>& choices,
                                      std::optional<std::size_t> shared = std::nullopt) {
  std::vector<PartitionStep> priced = steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!scaled.times[i].empty()) {
      const ScaledTime& time = scaled.times[i][choices[i]];
      const double part =
          shared ? static_cast<double>(time.threads) / static_cast<double>(*shared) : 1.0;
      priced[i] = step_with(steps[i], time.time, part);
    }
  }
  return priced;
}

/// Returns the steps whose parts follow each other without a pause up to the schedule's end. Their
/// times add up to it.
std::vector<PartitionStep> unbroken_chain(const rewrite::WavefrontSchedule& schedule,
                                          const std::vector<PartitionStep>& steps,
                                          const ScaledSteps& scaled) {
  std::vector<PartitionStep> chain;
  double end = schedule.seconds;
  for (std::size_t at = schedule.parts.size(); end > 0.0 && at-- > 0;) {
    const rewrite::WavefrontSchedule::Part& part = schedule.parts[at];
    if (part.end == end && part.begin < end) {
      const std::vector<ScaledTime>& times = scaled.times[part.task];
      chain.push_back(step_with(steps[part.task], times[schedule.choices[part.task]].time, 1.0));
      end = part.begin;
      at = schedule.parts.size();
    }
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

std::vector<std::string> list_lacks(const ScaledSteps& scaled) {
  std::vector<std::string> lacks = {
      "caches and memory that processors share", "reorders between layouts", "gaps between steps"};
  if (!scaled.lacking.empty()) {
    lacks.push_back(
        fmt::format("times of some steps with {} threads", fmt::join(scaled.lacking, ", ")));
  }
  return lacks;
}

/// Steps in the order in which they start. What starts together is ordered by its end.
std::vector<std::size_t> by_start(const std::vector<CoSchedule::Unlimited::Place>& places) {
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
                         std::vector<CoSchedule::Unlimited::Place>& places) {
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

std::optional<CoSchedule> co_schedule(const model::Graph& graph,
                                      const ResultSet& results,
                                      const CoSchedule::Scaling& scaling,
                                      ModelPartition::Mode mode) {
  if (!why_no_schedule(scaling).empty()) {
    return std::nullopt;
  }
  CoSchedule result;
  result.mode = to_text(mode);
  result.processors = scaling.processors();
  result.steps = partition_model(graph, results, mode).steps;
  const ScaledSteps scaled = scale_steps(graph, result.steps, scaling);

  const rewrite::WavefrontSchedule::Limits limits =
      rewrite::compute_schedule_limits(scaled.tasks, result.processors);
  const std::vector<PartitionStep> fastest = steps_with(result.steps, scaled, limits.fastest);
  std::vector<PartitionStep> path;
  for (const std::size_t step : limits.path) {
    path.push_back(fastest[step]);
  }
  result.sequential = make_bound(results::BoundKind::kSequential, result.mode, fastest);
  result.critical_path = make_bound(results::BoundKind::kCriticalPath, result.mode, path);
  const Bound area =
      make_bound(results::BoundKind::kOccupancy,
                 result.mode,
                 steps_with(result.steps, scaled, limits.efficient, result.processors));
  const bool path_decides = limits.critical_path > limits.area;
  result.occupancy = path_decides ? result.critical_path : area;
  result.occupancy.kind = results::BoundKind::kOccupancy;

  rewrite::WavefrontSchedule schedule = rewrite::schedule_waves(scaled.tasks, result.processors);
  result.schedule = make_bound(
      results::BoundKind::kSchedule, result.mode, unbroken_chain(schedule, result.steps, scaled));
  result.programs = schedule.programs;
  for (const rewrite::WavefrontSchedule::Part& part : schedule.parts) {
    result.parts.push_back({part.task, part.processor, Seconds(part.begin), Seconds(part.end)});
  }
  for (Bound* const bound :
       {&result.sequential, &result.critical_path, &result.occupancy, &result.schedule}) {
    bound->complete = scaled.unmeasured == 0;
    bound->lacks = list_lacks(scaled);
  }
  return result;
}

std::string why_no_schedule(const CoSchedule::Scaling& scaling) {
  if (scaling.processors() < 2) {
    return "the run has one thread, so that nothing can run beside a step: run with --threads 2 or "
           "more";
  }
  return scaling.empty()
             ? fmt::format(
                   "no layer was measured with fewer threads than {} in an environment "
                   "that is else the same: run the suite's layers with --threads 1, too",
                   scaling.processors())
             : std::string();
}

CoSchedule::Unlimited schedule_without_limits(std::span<const PartitionStep> steps,
                                              const std::vector<std::vector<std::size_t>>& needs) {
  PLUMB_CHECK(needs.size() == steps.size());
  CoSchedule::Unlimited schedule;
  schedule.timed = std::any_of(
      steps.begin(), steps.end(), [](const PartitionStep& step) { return step.time.has_value(); });
  schedule.places.resize(steps.size());
  for (std::size_t step = 0; step < steps.size(); ++step) {
    CoSchedule::Unlimited::Place& place = schedule.places[step];
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
