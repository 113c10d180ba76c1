// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/loadgen/scenario_name.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/attributes.hpp"
#include "harness/results/outcome.hpp"
#include "harness/results/series/shape_turn.hpp"

namespace plumb::analysis {

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
  loadgen::ScenarioName scenario = loadgen::ScenarioName::kSingleStream;
  std::optional<results::ShapeTurn> turn = {};  ///< among other shapes; absent: it was alone
  bool library_choice = false;  ///< how the library executes a model when it is asked for nothing
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
  results::Readings readings = {};        ///< of the device, over these processes
  results::Attributes attributes = {};    ///< what the backend says of how it executed the model
};

}  // namespace plumb::analysis
