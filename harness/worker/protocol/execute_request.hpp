// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/execution_mode.hpp"
#include "harness/results/model_code.hpp"

namespace plumb::worker {

/// Time of a variant, measured by itself.
struct VariantTime {
  std::string variant;
  Seconds seconds{};
};

/// Measured ways to execute one step of a mode.
struct ModeStep {
  std::vector<model::LayerId> layers;  ///< of the model's graph, ascending; several: fused
  model::LayerKey key;                 ///< of the one layer that they become
  std::vector<VariantTime> choices;    ///< fastest first; a single one is always taken
};

/// Request for one way to execute a model.
struct ModeRequest {
  results::ExecutionMode mode;
  std::vector<ModeStep> steps;  ///< with best_variant: all layers that are computed; with
                                ///< micro_batch: those with a variant of their own
  Seconds reorder_per_byte{};   ///< price of changing a layout, by bytes read and written
};

/// Sampling of where the threads are, in the blocks whose time counts.
struct SampledBlocks {
  double rate = 1000.0;          ///< samples a second of each thread
  std::filesystem::path folder;  ///< exists; the library writes the code that it makes there
};

/// Request to execute one whole model end to end, in one mode or, in turns, in several.
struct ExecuteRequest {
  std::string name;   ///< for the log
  std::string model;  ///< a serialized ModelProto, weight-free: shapes fixed; empty: see `path`
  std::filesystem::path path;                ///< an ONNX file, absolute
  std::optional<std::int64_t> batch;         ///< of a file, as ReadOptions
  std::optional<results::ModelCode> code;    ///< what `path` was exported from: a worker that can
                                             ///< executes it as it is, in place of the file
  std::map<std::string, std::int64_t> dims;  ///< of a file, as ReadOptions
  bool rebatch = false;                      ///< of a file, as ReadOptions
  std::string dtype = "f32";                 ///< of the model, by its name in suites; not int8
  std::string training;  ///< of a step, as rewrite::parse_step_choice() reads it; empty: none
  std::vector<ModeRequest> modes{{}};  ///< at least one
  measure::SamplingPlan sampling{.budget = Seconds(1.0)};
  std::uint64_t seed = 1;  ///< of the inputs, and of weights that the model does not hold
  std::int64_t disturbed_attempts = 2;
  std::optional<Seconds> host_pace;  ///< the fastest that other processes saw (kHostPace)
  bool verify = true;                ///< compare with the float64 reference, unless too large
  bool profile = true;               ///< time the plan's steps beside the model, for its prediction
  bool in_turns = false;             ///< wait before each turn, while another worker has its own
  std::optional<SampledBlocks> sampled;  ///< absent: no block is sampled

  /// Returns the type in which a mode executes the model, by its name in suites.
  [[nodiscard]] std::string_view executed_type(const results::ExecutionMode& mode) const {
    return mode.other_type().empty() ? std::string_view(dtype) : mode.other_type();
  }
};

/// Progress of a worker that times a model.
struct ExecuteProgress {
  double share = 0.0;  ///< of all turns, from 0 to 1; only ever grows
  Seconds elapsed{};   ///< since the first of them began
};

using ExecuteReport = std::function<void(const ExecuteProgress&)>;

}  // namespace plumb::worker
