// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/process_pool.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {

struct Bound;
class ResultSet;
struct ModelBounds;

/// Time of a layer inside an executed model, beside that of the same variant alone.
struct LayerInModel {
  std::string name;
  model::LayerKey key;
  std::string variant;
  Seconds inside{};  ///< in the passes that time each step by itself
  Seconds alone{};   ///< its own row in this run: activations refreshed, weights cold
};

/// Times of one mode of a model end to end, over the processes that executed it. The harness
/// overhead is subtracted.
struct ExecutionTime {
  std::string mode;
  std::string scenario;
  results::Outcome outcome;
  Seconds median{};
  measure::Interval interval{};
  Seconds p90{};
  Seconds p99{};
  std::size_t samples = 0;           ///< of all processes; 0: there is no time
  std::vector<double> process_logs;  ///< ln(median) of each quiet process, in order
  bool disturbed = false;            ///< in every process
  Bytes memory;
  std::int64_t reorders = 0;
  std::string output_hash;                ///< of the output's bytes; empty if not computed
  std::optional<double> maximum_error;    ///< against the plain result; absent: nothing compared
  std::vector<LayerInModel> differences;  ///< where layers take another time inside than alone
};

[[nodiscard]] ExecutionTime execution_time(const ReplicatedExecution& execution);

/// Returns whether no execution in this mode can beat a bound. The bound must be complete. Its kind
/// must be `hardware`, or `library` (with parallel branches `library_parallel`) with or without
/// fusion as the execution. False for executions in bf16 or int8.
[[nodiscard]] bool must_not_exceed(const Bound& bound, const ExecutionTime& execution);

/// Adds a run's executions of a model, over the processes of each mode, to its bounds. The estimate
/// `predicted` of an executed plan replaces the mode's `layer_sum`. Findings are added for no time
/// (with the reason) and a bound of the same mode above the measured time. A disturbed host and an
/// unstable time are disturbances. Bound and time are compared by the ends of their intervals
/// (docs/reference/bounds.md). Pure.
void add_executions(std::span<const results::Execution> executions,
                    const model::Graph& graph,
                    const ResultSet& results,
                    ModelBounds& model);

}  // namespace plumb::analysis
