// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "harness/model/graph.hpp"
#include "runners/engine/branch_schedule.hpp"
#include "runners/onednn/layer_plan.hpp"
#include "runners/onednn/model_plan.hpp"
#include "runners/onednn/offer.hpp"

namespace plumb::onednn {

/// Puts the plan of a model together step by step: buffers, the parts that layers bring, reorders
/// between them, and at the end one block of memory for all results.
class PlanBuilder {
 public:
  /// Keeps references to both. Of more than one lane the steps are scheduled for so many.
  PlanBuilder(const Graph& graph, const Device& device, std::size_t lanes = 1)
      : graph_(graph), device_(device), lanes_(lanes) {}

  /// Sets the layer of the next steps; absent: they make the model's outputs dense.
  void begin_layer(std::optional<LayerId> layer) { layer_ = layer; }
  /// Sets the variant by which the layer is executed.
  void set_variant(std::string variant);

  std::size_t add_buffer(Buffer buffer);
  /// Adds a buffer that bind() fills with an input or a constant, as `buffer` wants it.
  std::size_t add_operand(ValueId value, Buffer buffer);
  /// Adds a step that changes a layout; returns the new buffer.
  std::size_t add_reorder(std::size_t source,
                          const dnnl::memory::desc& from,
                          const dnnl::memory::desc& to);
  /// The same as a layer's own work: it counts as no reorder.
  std::size_t add_move(std::size_t source,
                       const dnnl::memory::desc& from,
                       const dnnl::memory::desc& to);
  /// Adds a step that packs a dense operand as `wanted` says; returns the new buffer.
  std::size_t add_packing(std::size_t source, const Buffer& wanted);
  /// Adds a part's steps; `map` says which of the model's buffers each of the part's is.
  void add_part(const LayerPlan& part, const std::vector<std::size_t>& map);
  /// Adds the time that making a part's primitives took.
  void add_creation(Seconds creation) { model_.plan.creation += creation; }

  /// Ends the plan: `outputs` are the buffers of the model's results.
  [[nodiscard]] ModelPlan finish(std::vector<std::size_t> outputs);

  /// Returns whether a value is a weight, or made of weights only.
  [[nodiscard]] bool is_constant(ValueId value) const;

 private:
  std::size_t add_copy(std::size_t source,
                       const dnnl::memory::desc& from,
                       const dnnl::memory::desc& to,
                       bool reorder);
  /// Buffers that a step reads and writes. A buffer that it changes is in both lists if it also
  /// reads it.
  struct Touched {
    std::vector<std::size_t> read;
    std::vector<std::size_t> written;
  };
  /// Uses of a buffer by the steps so far.
  struct Uses {
    std::vector<std::size_t> steps;    ///< ascending
    std::optional<std::size_t> maker;  ///< that wrote it last
    std::vector<std::size_t> readers;  ///< since
  };

  void append(const Touched& touched, Step step, bool reorder);
  void schedule();
  void place_buffers();
  /// The schedule's order, with one more step behind all of them.
  [[nodiscard]] StepOrder order_to(std::size_t end) const;

  const Graph& graph_;
  const Device& device_;
  std::size_t lanes_;
  StepNeeds needs_;  // of the steps so far
  ModelPlan model_;
  std::optional<LayerId> layer_;
  std::map<ValueId, std::size_t> operands_;  // index into model_.operands
  std::map<std::size_t, Uses> uses_;         // of buffers
  std::set<std::size_t> apart_;              // buffers that have memory of their own
};

}  // namespace plumb::onednn
