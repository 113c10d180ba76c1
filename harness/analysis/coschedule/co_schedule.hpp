// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/coschedule/thread_scaling.hpp"

namespace plumb::analysis {

/// Efficiency of all threads from which a machine can show what co-scheduling brings. Below, two
/// threads share a core, and each slows the other down.
inline constexpr double kMinParallelEfficiency = 0.8;

/// Part of a step on one processor.
struct ScheduledPart {
  std::size_t step = 0;  ///< of the partition
  std::size_t processor = 0;
  Seconds begin{};
  Seconds end{};
};

/// Schedule of a model's steps that share the processors, after Rammer.
struct CoSchedule {
  std::string mode;  ///< of the partition: "plain", "fusion"
  std::size_t processors = 1;
  std::vector<PartitionStep> steps;  ///< the partition of `library` in that mode
  std::vector<ScheduledPart> parts;  ///< those of a step side by side
  std::size_t programs = 0;          ///< all processors wait for each other between two
  Bound sequential;                  ///< one step after the other, each as fast as it can be
  Bound critical_path;               ///< of these times
  Bound occupancy;                   ///< kind `occupancy`
  Bound schedule;                    ///< kind `schedule`
};

/// Computes the estimates `occupancy` and `schedule` of docs/reference/bounds.md for the partition
/// of a mode.
///
/// A step's choices are its hot times with each number of threads: so many equal parts, each as
/// long as the step takes so. Absent: the run has one thread, or nothing was measured with fewer
/// (why_no_schedule()).
[[nodiscard]] std::optional<CoSchedule> co_schedule(const model::Graph& graph,
                                                    const ResultSet& results,
                                                    const ThreadScaling& scaling,
                                                    PartitionMode mode);

/// Returns why a run has no schedule. Empty: it has one.
[[nodiscard]] std::string why_no_schedule(const ThreadScaling& scaling);

}  // namespace plumb::analysis
