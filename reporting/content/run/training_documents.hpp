// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/training/training_costs.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb training last-batch`.
void write_last_batches(const std::vector<analysis::LastBatch>& batches,
                        OutputMode style,
                        std::ostream& out);

/// Writes the output of `plumb training packing`.
void write_packings(const std::vector<analysis::Packing>& packings,
                    const analysis::Packing::GraphCounts& graphs,
                    OutputMode style,
                    std::ostream& out);

/// Batches of a model, and the largest that fit.
struct LargestBatch {
  /// Memory that a step of training needs with one batch.
  struct Batch {
    std::int64_t batch = 0;
    model::Graph::Memory memory;
    model::Graph::Memory checkpointed;  ///< where each value is recomputed once at most
  };

  std::string model;
  std::string optimizer;
  Bytes available;
  std::vector<Batch> batches;                ///< ascending
  std::optional<std::int64_t> largest;       ///< absent: not even one sample fits
  std::optional<std::int64_t> checkpointed;  ///< the same with values recomputed
};
/// Writes the output of `plumb training largest-batch`.
void write_largest_batch(const LargestBatch& found, OutputMode style, std::ostream& out);

/// Time against memory of a measured step.
struct CheckpointFront {
  analysis::ModelInstance instance;
  Seconds step{};  ///< sum of its layers
  std::vector<analysis::MeasuredStep::Checkpoints> plans;
};
/// Writes the output of `plumb training checkpoints`.
void write_checkpoints(const std::vector<CheckpointFront>& fronts,
                       OutputMode style,
                       std::ostream& out);

/// Data-parallel steps of measured models, with given communication times.
using ExchangeSchedules =
    std::vector<std::pair<analysis::ModelInstance, analysis::ExchangeSchedule>>;

/// Writes the output of `plumb training exchange`.
void write_exchanges(const ExchangeSchedules& steps, OutputMode style, std::ostream& out);

/// Estimate of the time that given epochs take. Nothing is trained so far.
struct TrainingTime {
  analysis::ModelInstance instance;
  Seconds step{};  ///< end to end, in `mode`
  std::string mode;
  analysis::LastBatch epoch;
  std::size_t epochs = 0;
  Seconds in_turn{};       ///< the next epoch waits for the evaluation
  Seconds asynchronous{};  ///< evaluation beside the next epoch
};
/// Writes the output of `plumb training time`.
void write_training_times(const std::vector<TrainingTime>& times,
                          OutputMode style,
                          std::ostream& out);

/// Step of training that `plumb model show --training` describes.
struct ShownStep {
  rewrite::TrainingGraph training;
  std::optional<rewrite::TrainingStep::Optimizer::Kind>
      optimizer;                          ///< absent: the weights are not updated
  model::LayerId first_update_layer = 0;  ///< with an optimiser
};

/// Writes what each phase of a step computes, and which layers have no gradient.
void write_training(const ShownStep& step, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
