// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "runners/engine/exec/branch_schedule.hpp"
#include "runners/onednn/exec/execution_plan.hpp"
#include "runners/onednn/exec/model_plan.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Builder of a model's plan, step by step. It adds buffers, the parts of layers and the reorders
/// between them, and at the end one block of memory for all results.
class PlanBuilder {
 public:
  /// Keeps references to the graph and the device. With several lanes, the steps are scheduled for
  /// them.
  PlanBuilder(const model::Graph& graph, const Device& device, std::size_t lanes = 1)
      : graph_(graph), device_(device), lanes_(lanes) {}

  /// Sets the layer of the next steps. Without a layer, they make the model's outputs dense.
  void begin_layer(std::optional<model::LayerId> layer) { layer_ = layer; }
  /// Sets the variant that executes the current layer.
  void set_variant(std::string variant);

  std::size_t add_buffer(Buffer buffer);
  /// Adds a buffer that bind() fills with an input or a constant, in the layout of `buffer`.
  std::size_t add_operand(model::ValueId value, Buffer buffer);
  /// Adds a step that changes a layout, and returns the new buffer.
  std::size_t add_reorder(std::size_t source,
                          const dnnl::memory::desc& from,
                          const dnnl::memory::desc& to);
  /// Adds the same step as a layer's own work, so that it does not count as a reorder.
  std::size_t add_move(std::size_t source,
                       const dnnl::memory::desc& from,
                       const dnnl::memory::desc& to);
  /// Adds a step that packs a dense operand as `wanted` says, and returns the new buffer.
  std::size_t add_packing(std::size_t source, const Buffer& wanted);
  /// Adds a part's steps. Buffer i of the part is buffer map[i] of the model.
  void add_part(const ExecutionPlan& part, const std::vector<std::size_t>& map);
  /// Adds the time that making a part's primitives took.
  void add_creation(Seconds creation) { model_.plan.creation += creation; }

  /// Completes the plan. `outputs` are the buffers of the model's results.
  [[nodiscard]] ModelPlan finish(std::vector<std::size_t> outputs);

  /// Returns whether a value is a weight, or computed from weights only.
  [[nodiscard]] bool is_constant(model::ValueId value) const;

 private:
  std::size_t add_copy(std::size_t source,
                       const dnnl::memory::desc& from,
                       const dnnl::memory::desc& to,
                       bool reorder);
  /// Uses of a buffer by the steps so far.
  struct Uses {
    std::vector<std::size_t> steps;    ///< ascending
    std::optional<std::size_t> maker;  ///< step that wrote it last
    std::vector<std::size_t> readers;  ///< steps that read it since
  };

  void append(StepBuffers touched, Step step, bool reorder);
  void schedule();
  void place_buffers();
  /// Returns the schedule's order, with one more step `end` behind all of them.
  [[nodiscard]] engine::StepOrder order_to(std::size_t end) const;

  const model::Graph& graph_;
  const Device& device_;
  std::size_t lanes_;
  engine::StepNeeds needs_;  // of the steps so far
  ModelPlan model_;
  std::optional<model::LayerId> layer_;
  std::map<model::ValueId, std::size_t> operands_;  // index into model_.operands
  std::map<std::size_t, Uses> uses_;                // of buffers
  std::set<std::size_t> apart_;                     // buffers with memory of their own
};

}  // namespace plumb::onednn
