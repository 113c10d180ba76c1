// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/wavefront_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

namespace plumb::rewrite {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// Checks that a schedule is one: parts on free processors, after what they wait for.
void expect_feasible(const std::vector<WavefrontSchedule::Task>& tasks,
                     std::size_t processors,
                     const WavefrontSchedule& schedule) {
  std::vector<double> begin(tasks.size(), std::numeric_limits<double>::infinity());
  std::vector<double> end(tasks.size(), 0.0);
  std::vector<std::size_t> count(tasks.size(), 0);
  std::vector<std::vector<WavefrontSchedule::Part>> of_processor(processors);
  for (const WavefrontSchedule::Part& part : schedule.parts) {
    ASSERT_LT(part.processor, processors);
    begin[part.task] = std::min(begin[part.task], part.begin);
    end[part.task] = std::max(end[part.task], part.end);
    ++count[part.task];
    of_processor[part.processor].push_back(part);
    const WavefrontSchedule::Task::Choice& choice =
        tasks[part.task].choices[schedule.choices[part.task]];
    EXPECT_NEAR(part.end - part.begin, choice.seconds, 1e-12);
  }
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    EXPECT_EQ(count[task], tasks[task].choices[schedule.choices[task]].parts);
    EXPECT_LE(end[task], schedule.seconds);
    for (const std::size_t earlier : tasks[task].after) {
      EXPECT_GE(begin[task], end[earlier]);
    }
  }
  for (std::vector<WavefrontSchedule::Part>& parts : of_processor) {
    for (std::size_t i = 1; i < parts.size(); ++i) {
      EXPECT_GE(parts[i].begin, parts[i - 1].end);
    }
  }
}

/// Finds the least time over all choices and all orders of parts by their beginnings. In such an
/// order, the processor that is free first is as good as any other.
class BruteForce {
 public:
  BruteForce(const std::vector<WavefrontSchedule::Task>& tasks,
             std::size_t processors,
             double known)
      : tasks_(tasks),
        best_(known),
        busy_(processors, 0.0),
        choice_(tasks.size()),
        left_(tasks.size()),
        end_(tasks.size(), 0.0) {}

  double run() {
    choose(0);
    return best_;
  }

 private:
  void choose(std::size_t task) {
    if (task == tasks_.size()) {
      place(0.0, 0.0);
      return;
    }
    for (const WavefrontSchedule::Task::Choice& choice : tasks_[task].choices) {
      choice_[task] = &choice;
      left_[task] = choice.parts;
      choose(task + 1);
    }
  }

  /// Places what is left, no part before `begin`. `latest` is the end of what is placed.
  void place(double begin, double latest) {
    double work = 0.0;
    bool all_placed = true;
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      work += static_cast<double>(left_[task]) * choice_[task]->seconds;
      all_placed = all_placed && left_[task] == 0;
    }
    for (const double until : busy_) {
      work += std::max(until, begin);
    }
    // No order of what is left can use the processors better than without a pause.
    const double least = all_placed ? latest : work / static_cast<double>(busy_.size());
    if (std::max(latest, least) >= best_) {
      return;
    }
    if (all_placed) {
      best_ = latest;
      return;
    }
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      const bool ready = std::all_of(tasks_[task].after.begin(),
                                     tasks_[task].after.end(),
                                     [&](std::size_t earlier) { return left_[earlier] == 0; });
      if (left_[task] > 0 && ready) {
        place_part(task, begin, latest);
      }
    }
  }

  void place_part(std::size_t task, double not_before, double latest) {
    const auto processor = std::min_element(busy_.begin(), busy_.end());
    double begin = std::max(*processor, 0.0);
    for (const std::size_t earlier : tasks_[task].after) {
      begin = std::max(begin, end_[earlier]);
    }
    if (begin < not_before) {
      return;  // another order has this part earlier
    }
    const double busy_before = *processor;
    const double end_before = end_[task];
    const double end = begin + choice_[task]->seconds;
    *processor = end;
    end_[task] = std::max(end_before, end);
    --left_[task];
    place(begin, std::max(latest, end));
    ++left_[task];
    end_[task] = end_before;
    *processor = busy_before;
  }

  const std::vector<WavefrontSchedule::Task>& tasks_;
  double best_;
  std::vector<double> busy_;
  std::vector<const WavefrontSchedule::Task::Choice*> choice_;
  std::vector<std::size_t> left_;
  std::vector<double> end_;
};

TEST(WavefrontSchedule, puts_two_branches_beside_each_other_where_one_thread_is_more_efficient) {
  // Alone each branch takes 6 s on both processors, and 10 s on one.
  const std::vector<WavefrontSchedule::Task::Choice> branch{{1, 10.0}, {2, 6.0}};
  const std::vector<WavefrontSchedule::Task> tasks{{branch, {}}, {branch, {}}};
  const WavefrontSchedule schedule = schedule_waves(tasks, 2);
  EXPECT_DOUBLE_EQ(schedule.seconds, 10.0);
  EXPECT_THAT(schedule.choices, ElementsAre(0U, 0U));
  const WavefrontSchedule::Limits limits = compute_schedule_limits(tasks, 2);
  EXPECT_DOUBLE_EQ(limits.critical_path, 6.0);
  EXPECT_DOUBLE_EQ(limits.area, 10.0);
  EXPECT_DOUBLE_EQ(limits.sequential, 12.0);
  EXPECT_THAT(limits.path, ElementsAre(0U));
  EXPECT_THAT(limits.fastest, ElementsAre(1U, 1U));
  EXPECT_THAT(limits.efficient, ElementsAre(0U, 0U));
}

TEST(WavefrontSchedule, gives_a_lone_step_all_processors) {
  const std::vector<WavefrontSchedule::Task::Choice> step{{1, 10.0}, {2, 6.0}};
  const std::vector<WavefrontSchedule::Task> tasks{{step, {}}, {step, {0}}, {step, {1}}};
  const WavefrontSchedule schedule = schedule_waves(tasks, 2);
  EXPECT_DOUBLE_EQ(schedule.seconds, 18.0);
  EXPECT_EQ(schedule.programs, 1U);
}

TEST(WavefrontSchedule, keeps_the_fastest_choices_of_a_wave_that_leaves_processors_free) {
  // Two of four processors are enough: the wave does not fill them.
  const std::vector<WavefrontSchedule::Task> tasks{{{{1, 10.0}, {2, 9.0}}, {}}};
  const WavefrontSchedule schedule = schedule_waves(tasks, 4);
  EXPECT_THAT(schedule.choices, ElementsAre(1U));
  EXPECT_DOUBLE_EQ(schedule.seconds, 9.0);
}

TEST(WavefrontSchedule, runs_the_blocks_of_a_large_grid_in_turns) {
  const std::vector<WavefrontSchedule::Task> tasks{{{{5, 1.0}}, {}}};
  EXPECT_DOUBLE_EQ(schedule_waves(tasks, 2).seconds, 3.0);
  const WavefrontSchedule::Limits limits = compute_schedule_limits(tasks, 2);
  EXPECT_DOUBLE_EQ(limits.sequential, 3.0);
  EXPECT_DOUBLE_EQ(limits.area, 2.5);
}

TEST(WavefrontSchedule, fills_the_ragged_end_of_the_wave_before) {
  // The third task waits for the first only, so that it begins while the second still runs.
  const std::vector<WavefrontSchedule::Task> tasks{
      {{{1, 2.0}}, {}}, {{{1, 6.0}}, {}}, {{{1, 3.0}}, {0}}};
  const WavefrontSchedule schedule = schedule_waves(tasks, 2);
  EXPECT_DOUBLE_EQ(schedule.seconds, 6.0);
}

TEST(WavefrontSchedule, of_nothing_is_empty) {
  EXPECT_EQ(schedule_waves({}, 2).seconds, 0.0);
  EXPECT_EQ(compute_schedule_limits({}, 2).sequential, 0.0);
  EXPECT_THAT(compute_schedule_limits({}, 2).path, IsEmpty());
}

std::vector<WavefrontSchedule::Task> random_tasks(std::mt19937& random, std::size_t processors) {
  std::vector<WavefrontSchedule::Task> tasks(1 + random() % 8);
  std::size_t shared = 0;  // tasks of several parts: the brute force takes them one by one
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const double alone = static_cast<double>(1 + random() % 9);
    tasks[i].choices = {{1, alone}};
    if (random() % 2 == 0 && shared < 3) {
      // Between perfect scaling and none, sometimes worse than none.
      const double parts = static_cast<double>(processors);
      tasks[i].choices.push_back(
          {processors, alone / parts * (1.0 + static_cast<double>(random() % 12) / 10.0)});
      ++shared;
    }
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (random() % 3 == 0) {
        tasks[i].after.push_back(earlier);
      }
    }
  }
  return tasks;
}

/// Checks that the limits consist of the choices and the path that they name.
void expect_consistent(const std::vector<WavefrontSchedule::Task>& tasks,
                       std::size_t processors,
                       const WavefrontSchedule::Limits& limits) {
  std::vector<double> least;
  double area = 0.0;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    least.push_back(tasks[task].choices.at(limits.fastest.at(task)).seconds);
    const WavefrontSchedule::Task::Choice& efficient =
        tasks[task].choices.at(limits.efficient.at(task));
    area += efficient.seconds * static_cast<double>(efficient.parts);
  }
  EXPECT_NEAR(limits.area, area / static_cast<double>(processors), 1e-9);
  double path = 0.0;
  for (std::size_t i = 0; i < limits.path.size(); ++i) {
    path += least.at(limits.path[i]);
    if (i > 0) {
      EXPECT_THAT(tasks[limits.path[i]].after, Contains(limits.path[i - 1]));
    }
  }
  EXPECT_NEAR(limits.critical_path, path, 1e-9);
}

TEST(WavefrontSchedule, lies_above_the_optimum_and_the_limits_below_it_on_random_graphs) {
  std::mt19937 random(7);
  int better = 0;
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(round);
    const std::size_t processors = 2 + random() % 2;
    const std::vector<WavefrontSchedule::Task> tasks = random_tasks(random, processors);
    const WavefrontSchedule schedule = schedule_waves(tasks, processors);
    expect_feasible(tasks, processors, schedule);
    const WavefrontSchedule::Limits limits = compute_schedule_limits(tasks, processors);
    expect_consistent(tasks, processors, limits);
    EXPECT_LE(limits.critical_path, limits.sequential + 1e-9);
    EXPECT_LE(limits.area, limits.sequential + 1e-9);
    const double optimum = BruteForce(tasks, processors, schedule.seconds * (1.0 + 1e-9)).run();
    EXPECT_LE(std::max(limits.critical_path, limits.area), optimum + 1e-9);
    EXPECT_LE(optimum, schedule.seconds * (1.0 + 1e-8));
    better += optimum < schedule.seconds * (1.0 - 1e-6) ? 1 : 0;
  }
  EXPECT_GT(better, 0);  // the brute force finds what a list schedule misses
}

}  // namespace
}  // namespace plumb::rewrite
