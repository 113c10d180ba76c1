// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/base/units.hpp"

namespace plumb::analysis {

/// Returns for each step the steps that make what it reads, ascending. Layers outside of all steps
/// (views, folded ones) are looked through.
[[nodiscard]] std::vector<std::vector<std::size_t>> step_needs(
    const model::Graph& graph, const std::vector<PartitionStep>& steps);

/// Efficiency of all threads from which a machine can show what co-scheduling brings. Below, two
/// threads share a core, and each slows the other down.
inline constexpr double kMinParallelEfficiency = 0.8;

/// Schedule of a model's steps that share the processors, after Rammer.
struct CoSchedule {
  /// Hot times of keys with fewer threads than a run has. They come from runs of their own, whose
  /// environments equal this run's but for their threads.
  class Scaling {
   public:
    /// The most thread counts that one run is set beside.
    static constexpr std::size_t kMaxCounts = 64;

    explicit Scaling(std::size_t processors = 1) : processors_(processors) {}

    /// Adds the rows with `threads` threads. Ignored: no fewer threads than the run has, and what
    /// exceeds kMaxCounts.
    void add(std::size_t threads, std::vector<results::StoredMeasurement> rows);

    /// Returns the threads of the run.
    [[nodiscard]] std::size_t processors() const { return processors_; }
    [[nodiscard]] bool empty() const { return by_threads_.empty(); }
    /// Returns the results with fewer threads, by their number.
    [[nodiscard]] const std::map<std::size_t, ResultSet>& by_threads() const { return by_threads_; }

   private:
    std::size_t processors_;
    std::map<std::size_t, ResultSet> by_threads_;
  };

  /// Schedule of a model's steps on a machine without limits.
  struct Unlimited {
    struct Place {
      Seconds begin{};
      Seconds end{};
      std::size_t lane = 0;
    };
    std::vector<Place> places;  ///< by step
    Seconds total{};
    std::size_t lanes = 0;
    bool timed = false;  ///< whether any step has a time. If not, each counts as one second
  };

  /// Part of a step on one processor.
  struct Part {
    std::size_t step = 0;  ///< of the partition
    std::size_t processor = 0;
    Seconds begin{};
    Seconds end{};
  };

  std::string mode;  ///< of the partition: "plain", "fusion"
  std::size_t processors = 1;
  std::vector<PartitionStep> steps;  ///< the partition of `library` in that mode
  std::vector<Part> parts;           ///< those of a step side by side
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
                                                    const CoSchedule::Scaling& scaling,
                                                    ModelPartition::Mode mode);

/// Returns why a run has no schedule. Empty: it has one.
[[nodiscard]] std::string why_no_schedule(const CoSchedule::Scaling& scaling);

/// Starts every step when the last of those it waits for has ended. The critical path takes lane 0.
/// Any other step takes the lane of one that it waits for if that is free, or else the first free
/// one. Steps without a time take none. `steps` are in topological order, and `needs` has the steps
/// that each waits for (step_needs()).
[[nodiscard]] CoSchedule::Unlimited schedule_without_limits(
    std::span<const PartitionStep> steps, const std::vector<std::vector<std::size_t>>& needs);

}  // namespace plumb::analysis
