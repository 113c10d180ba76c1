// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/coschedule/co_schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "harness/analysis/coschedule/step_needs.hpp"
#include "harness/rewrite/wavefront_schedule.hpp"

namespace plumb::analysis {
namespace {

/// A step's hot time with a number of threads.
struct ScaledTime {
  std::size_t threads = 1;
  KeyTime time;
};

/// Steps of a partition as tasks. A choice of a task is a time of the step.
struct ScaledSteps {
  std::vector<std::vector<ScaledTime>> times;  ///< by step, as the tasks' choices
  std::vector<rewrite::ParallelTask> tasks;
  std::set<std::size_t> lacking;  ///< thread counts with which some step has no time
  std::size_t unmeasured = 0;     ///< steps without any time: they take none
};

ScaledSteps scale_steps(const model::Graph& graph,
                        const std::vector<PartitionStep>& steps,
                        const ThreadScaling& scaling) {
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
    rewrite::ParallelTask& task = scaled.tasks.emplace_back();
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

/// Makes a bound of the step times that `choose` returns, each with a factor. Steps without a time
/// stay without one.
template <typename Choose>
Bound sum_of(results::BoundKind kind,
             std::string_view mode,
             const std::vector<PartitionStep>& steps,
             const ScaledSteps& scaled,
             Choose&& choose) {
  std::vector<PartitionStep> priced;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (scaled.times[i].empty()) {
      priced.push_back(steps[i]);
    } else {
      const auto [time, factor] = choose(scaled.times[i]);
      priced.push_back(step_with(steps[i], *time, factor));
    }
  }
  return make_bound(kind, mode, priced);
}

const KeyTime* least_time(const std::vector<ScaledTime>& times) {
  return &std::min_element(times.begin(),
                           times.end(),
                           [](const ScaledTime& left, const ScaledTime& right) {
                             return left.time.time.median < right.time.time.median;
                           })
              ->time;
}

/// Returns the time with the least work, and the part of all processors that it keeps busy.
std::pair<const KeyTime*, double> least_work(const std::vector<ScaledTime>& times,
                                             std::size_t processors) {
  const auto work = [](const ScaledTime& time) {
    return time.time.time.median.count() * static_cast<double>(time.threads);
  };
  const auto found = std::min_element(
      times.begin(), times.end(), [&](const ScaledTime& left, const ScaledTime& right) {
        return work(left) < work(right);
      });
  return {&found->time, static_cast<double>(found->threads) / static_cast<double>(processors)};
}

/// Returns the longest chain of steps, each by its least time, source to sink.
std::vector<std::size_t> longest_chain(const ScaledSteps& scaled) {
  std::vector<Seconds> end(scaled.tasks.size());
  std::vector<std::optional<std::size_t>> from(scaled.tasks.size());
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < scaled.tasks.size(); ++i) {
    for (const std::size_t earlier : scaled.tasks[i].after) {
      from[i] = !from[i] || end[earlier] > end[*from[i]] ? earlier : *from[i];
    }
    end[i] = (from[i] ? end[*from[i]] : Seconds{}) +
             (scaled.times[i].empty() ? Seconds{} : least_time(scaled.times[i])->time.median);
    last = !last || end[i] > end[*last] ? i : *last;
  }
  std::vector<std::size_t> chain;
  for (std::optional<std::size_t> at = last; at; at = from[*at]) {
    chain.push_back(*at);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

/// Returns the steps whose parts follow each other without a pause up to the schedule's end. Their
/// times add up to it.
std::vector<PartitionStep> unbroken_chain(const rewrite::WavefrontSchedule& schedule,
                                          const std::vector<PartitionStep>& steps,
                                          const ScaledSteps& scaled) {
  std::vector<PartitionStep> chain;
  double end = schedule.seconds;
  for (std::size_t at = schedule.parts.size(); end > 0.0 && at-- > 0;) {
    const rewrite::PlacedPart& part = schedule.parts[at];
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

}  // namespace

std::optional<CoSchedule> co_schedule(const model::Graph& graph,
                                      const ResultSet& results,
                                      const ThreadScaling& scaling,
                                      PartitionMode mode) {
  if (!why_no_schedule(scaling).empty()) {
    return std::nullopt;
  }
  CoSchedule result;
  result.mode = to_text(mode);
  result.processors = scaling.processors();
  result.steps = partition_model(graph, results, mode).steps;
  const ScaledSteps scaled = scale_steps(graph, result.steps, scaling);

  const auto fastest = [](const auto& times) { return std::pair(least_time(times), 1.0); };
  result.sequential =
      sum_of(results::BoundKind::kSequential, result.mode, result.steps, scaled, fastest);
  std::vector<PartitionStep> chain;
  for (const std::size_t step : longest_chain(scaled)) {
    chain.push_back(scaled.times[step].empty()
                        ? result.steps[step]
                        : step_with(result.steps[step], *least_time(scaled.times[step]), 1.0));
  }
  result.critical_path = make_bound(results::BoundKind::kCriticalPath, result.mode, chain);
  const Bound area = sum_of(
      results::BoundKind::kOccupancy, result.mode, result.steps, scaled, [&](const auto& times) {
        return least_work(times, scaling.processors());
      });
  const bool path_decides = result.critical_path.seconds > area.seconds;
  result.occupancy = path_decides ? result.critical_path : area;
  result.occupancy.kind = results::BoundKind::kOccupancy;

  rewrite::WavefrontSchedule schedule = rewrite::schedule_waves(scaled.tasks, scaling.processors());
  result.schedule = make_bound(
      results::BoundKind::kSchedule, result.mode, unbroken_chain(schedule, result.steps, scaled));
  result.programs = schedule.programs;
  for (const rewrite::PlacedPart& part : schedule.parts) {
    result.parts.push_back({part.task, part.processor, Seconds(part.begin), Seconds(part.end)});
  }
  for (Bound* const bound :
       {&result.sequential, &result.critical_path, &result.occupancy, &result.schedule}) {
    bound->complete = scaled.unmeasured == 0;
    bound->lacks = list_lacks(scaled);
  }
  return result;
}

std::string why_no_schedule(const ThreadScaling& scaling) {
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

}  // namespace plumb::analysis
