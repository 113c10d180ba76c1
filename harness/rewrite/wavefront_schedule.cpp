// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/wavefront_schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::rewrite {
namespace {

double time_alone(const WavefrontSchedule::Task::Choice& choice, std::size_t processors) {
  const std::size_t turns = (choice.parts + processors - 1) / processors;
  return static_cast<double>(turns) * choice.seconds;
}

double work_of(const WavefrontSchedule::Task::Choice& choice) {
  return static_cast<double>(choice.parts) * choice.seconds;
}

/// Returns the fastest choice of a task. Of equal ones, the one with the least work.
std::size_t fastest_choice(const WavefrontSchedule::Task& task, std::size_t processors) {
  const auto order = [&](const WavefrontSchedule::Task::Choice& choice) {
    return std::pair(time_alone(choice, processors), work_of(choice));
  };
  const auto found = std::min_element(
      task.choices.begin(), task.choices.end(), [&](const auto& left, const auto& right) {
        return order(left) < order(right);
      });
  return static_cast<std::size_t>(found - task.choices.begin());
}

/// Returns the choice with the least work. Of equal ones, the fastest.
std::size_t most_efficient_choice(const WavefrontSchedule::Task& task, std::size_t processors) {
  const auto order = [&](const WavefrontSchedule::Task::Choice& choice) {
    return std::pair(work_of(choice), time_alone(choice, processors));
  };
  const auto found = std::min_element(
      task.choices.begin(), task.choices.end(), [&](const auto& left, const auto& right) {
        return order(left) < order(right);
      });
  return static_cast<std::size_t>(found - task.choices.begin());
}

/// Groups tasks by the number of tasks on their longest chain of predecessors.
std::vector<std::vector<std::size_t>> list_waves(std::span<const WavefrontSchedule::Task> tasks) {
  std::vector<std::size_t> level(tasks.size(), 0);
  std::vector<std::vector<std::size_t>> waves;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    for (const std::size_t earlier : tasks[task].after) {
      PLUMB_CHECK(earlier < task);
      level[task] = std::max(level[task], level[earlier] + 1);
    }
    waves.resize(std::max(waves.size(), level[task] + 1));
    waves[level[task]].push_back(task);
  }
  return waves;
}

/// A wave on processors that are busy until given times.
struct PlacedWave {
  std::vector<double> busy;  ///< by processor: until when, with the wave
  std::vector<WavefrontSchedule::Part> parts;
  std::vector<std::size_t> choices;  ///< by position in the wave
  double end = 0.0;                  ///< of the last part on any processor
};

class WavefrontScheduler {
 public:
  WavefrontScheduler(std::span<const WavefrontSchedule::Task> tasks, std::size_t processors)
      : tasks_(tasks), end_of_(tasks.size(), 0.0), busy_(processors, 0.0) {
    schedule_.choices.resize(tasks.size());
  }

  WavefrontSchedule run() {
    for (const std::vector<std::size_t>& wave : list_waves(tasks_)) {
      PlacedWave appended = place(wave, busy_);
      // Behind a barrier no part begins before all of them have ended.
      PlacedWave apart = place(wave, std::vector<double>(busy_.size(), schedule_.seconds));
      const bool append = schedule_.programs > 0 && appended.end <= apart.end;
      schedule_.programs += append ? 0U : 1U;
      commit(wave, append ? std::move(appended) : std::move(apart));
    }
    return std::move(schedule_);
  }

 private:
  [[nodiscard]] PlacedWave place(const std::vector<std::size_t>& wave,
                                 const std::vector<double>& busy) const {
    const std::size_t processors = busy.size();
    std::vector<std::size_t> fastest;
    std::vector<std::size_t> efficient;
    std::size_t parts = 0;
    for (const std::size_t task : wave) {
      fastest.push_back(fastest_choice(tasks_[task], processors));
      efficient.push_back(most_efficient_choice(tasks_[task], processors));
      parts += tasks_[task].choices[fastest.back()].parts;
    }
    PlacedWave placed = place_choices(wave, std::move(fastest), busy);
    if (parts >= processors) {
      PlacedWave other = place_choices(wave, std::move(efficient), busy);
      if (other.end < placed.end) {
        return other;
      }
    }
    return placed;
  }

  [[nodiscard]] PlacedWave place_choices(const std::vector<std::size_t>& wave,
                                         std::vector<std::size_t> choices,
                                         const std::vector<double>& busy) const {
    PlacedWave placed;
    placed.busy = busy;
    for (std::size_t i = 0; i < wave.size(); ++i) {
      const WavefrontSchedule::Task& task = tasks_[wave[i]];
      double ready = 0.0;
      for (const std::size_t earlier : task.after) {
        ready = std::max(ready, end_of_[earlier]);
      }
      const WavefrontSchedule::Task::Choice& choice = task.choices[choices[i]];
      for (std::size_t part = 0; part < choice.parts; ++part) {
        const std::size_t processor = earliest(placed.busy, ready);
        const double begin = std::max(placed.busy[processor], ready);
        placed.busy[processor] = begin + choice.seconds;
        placed.parts.push_back({wave[i], processor, begin, placed.busy[processor]});
      }
    }
    placed.choices = std::move(choices);
    placed.end = *std::max_element(placed.busy.begin(), placed.busy.end());
    return placed;
  }

  /// Returns the processor on which a part that is ready can begin first. Of equal ones, it is the
  /// one that has been idle for the shortest time.
  static std::size_t earliest(const std::vector<double>& busy, double ready) {
    const auto order = [&](double until) { return std::pair(std::max(until, ready), -until); };
    const auto found = std::min_element(busy.begin(), busy.end(), [&](double left, double right) {
      return order(left) < order(right);
    });
    return static_cast<std::size_t>(found - busy.begin());
  }

  void commit(const std::vector<std::size_t>& wave, PlacedWave placed) {
    for (std::size_t i = 0; i < wave.size(); ++i) {
      schedule_.choices[wave[i]] = placed.choices[i];
    }
    for (const WavefrontSchedule::Part& part : placed.parts) {
      end_of_[part.task] = std::max(end_of_[part.task], part.end);
    }
    schedule_.parts.insert(schedule_.parts.end(), placed.parts.begin(), placed.parts.end());
    schedule_.seconds = placed.end;
    busy_ = std::move(placed.busy);
  }

  std::span<const WavefrontSchedule::Task> tasks_;
  std::vector<double> end_of_;  // by task
  std::vector<double> busy_;    // by processor, of the current program
  WavefrontSchedule schedule_;
};

}  // namespace

WavefrontSchedule schedule_waves(std::span<const WavefrontSchedule::Task> tasks,
                                 std::size_t processors) {
  PLUMB_CHECK(processors > 0);
  return WavefrontScheduler(tasks, processors).run();
}

WavefrontSchedule::Limits compute_schedule_limits(std::span<const WavefrontSchedule::Task> tasks,
                                                  std::size_t processors) {
  PLUMB_CHECK(processors > 0);
  WavefrontSchedule::Limits limits;
  std::vector<double> end(tasks.size(), 0.0);
  std::vector<std::optional<std::size_t>> before(tasks.size());
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const WavefrontSchedule::Task& task = tasks[i];
    limits.fastest.push_back(fastest_choice(task, processors));
    limits.efficient.push_back(most_efficient_choice(task, processors));
    for (const std::size_t earlier : task.after) {
      before[i] = !before[i] || end[earlier] > end[*before[i]] ? earlier : *before[i];
    }
    const double least = time_alone(task.choices[limits.fastest[i]], processors);
    end[i] = (before[i] ? end[*before[i]] : 0.0) + least;
    last = !last || end[i] > end[*last] ? i : *last;
    limits.sequential += least;
    limits.area += work_of(task.choices[limits.efficient[i]]) / static_cast<double>(processors);
  }
  limits.critical_path = last ? end[*last] : 0.0;
  for (std::optional<std::size_t> at = last; at; at = before[*at]) {
    limits.path.push_back(*at);
  }
  std::reverse(limits.path.begin(), limits.path.end());
  return limits;
}

}  // namespace plumb::rewrite
