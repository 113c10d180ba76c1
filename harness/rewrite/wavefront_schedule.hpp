// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumb::rewrite {

/// Tasks on processors against time.
struct WavefrontSchedule {
  /// Times that no schedule of tasks on equal processors can beat, and the choices they consist of.
  struct Limits {
    double critical_path = 0.0;     ///< of the least times, each task alone on all processors
    double area = 0.0;              ///< Σ min over choices of parts × seconds, ÷ processors
    double sequential = 0.0;        ///< Σ of the least times: one task after the other attains it
    std::vector<std::size_t> path;  ///< tasks of the critical path, in order
    std::vector<std::size_t> fastest;    ///< choice of each task with the least time
    std::vector<std::size_t> efficient;  ///< choice of each task with the least work
  };

  /// Step of a model that may share the processors with others.
  struct Task {
    /// One way to execute a task: equal parts that need nothing of each other, each on one
    /// processor. Rammer calls them a kernel and its rTasks.
    struct Choice {
      std::size_t parts = 1;
      double seconds = 0.0;  ///< of one part
    };

    std::vector<Choice> choices;     ///< one at least
    std::vector<std::size_t> after;  ///< tasks with smaller numbers that must have ended
  };

  /// Part of a task on a processor.
  struct Part {
    std::size_t task = 0;
    std::size_t processor = 0;
    double begin = 0.0;
    double end = 0.0;
  };

  std::vector<Part> parts;           ///< each task's side by side, tasks in wave order
  std::vector<std::size_t> choices;  ///< by task
  std::size_t programs = 0;          ///< all processors wait for each other between two of them
  double seconds = 0.0;
};

/// Schedules tasks by the wavefront policy of Rammer (Ma et al., OSDI 2020, Algorithm 1).
///
/// A wave has the tasks whose longest chain of predecessors is equally long. It is appended to the
/// current program, unless a program of its own would end earlier. Tasks take their fastest
/// choices. If these fill the processors, the most efficient choices (least time × parts) are tried
/// as well, and taken if the wave ends earlier. Each part goes to the processor where it can begin
/// first. Of equal ones it is the one that is idle for the shortest time. Deterministic.
[[nodiscard]] WavefrontSchedule schedule_waves(std::span<const WavefrontSchedule::Task> tasks,
                                               std::size_t processors);
[[nodiscard]] WavefrontSchedule::Limits compute_schedule_limits(
    std::span<const WavefrontSchedule::Task> tasks, std::size_t processors);

}  // namespace plumb::rewrite
