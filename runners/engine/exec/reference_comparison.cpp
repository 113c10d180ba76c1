// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/reference_comparison.hpp"

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/hash64.hpp"
#include "harness/model/graph/graph.hpp"
#include "runners/engine/exec/output_difference.hpp"
#include "runners/engine/exec/reference_model.hpp"

namespace plumb::engine {
namespace {

constexpr Bytes kMaxKept{std::int64_t{512} << 20};  // of several graphs; one may be larger

Bytes bytes_of(const std::vector<model::Tensor>& tensors) {
  Bytes total;
  for (const model::Tensor& tensor : tensors) {
    total += Bytes{static_cast<std::int64_t>(tensor.data.size())};
  }
  return total;
}

/// Digest of what a reference is computed from: the layers in order, and the operands' elements.
class OriginDigest {
 public:
  void add(const model::Graph& graph) {
    for (const model::Layer& layer : graph.layers) {
      add(std::as_bytes(std::span(layer.key.text)));
      add(static_cast<std::uint64_t>(layer.role));
      add_ids(layer.outputs);
      for (const std::optional<model::ValueId>& input : layer.inputs) {
        add(input ? *input + 1 : 0);
      }
    }
    add_ids(graph.outputs);
  }
  void add(model::ValueId id, const model::Tensor& operand) {
    add(id);
    add(std::span(operand.data));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add(std::span<const std::byte> bytes) { value_ = hash64(bytes, value_); }
  void add(std::uint64_t number) { add(std::as_bytes(std::span(&number, 1))); }
  void add_ids(const std::vector<model::ValueId>& ids) {
    for (const model::ValueId id : ids) {
      add(id);
    }
  }

  std::uint64_t value_ = 0;
};

}  // namespace

const std::vector<model::Tensor>* ReferenceComparison::expected(
    const RequestedModel& model,
    const ReadyModel& ready,
    const std::function<void()>& after_layer) {
  const rewrite::FusedGraph& fused = ready.plan.fused;
  const std::vector<model::ValueId>& wanted = ready.prepared.operands;
  std::vector<model::Tensor> operands;
  if (!model.operands(fused, wanted, operands, ready.magnitudes).ok()) {
    return nullptr;
  }
  OriginDigest digest;
  digest.add(fused.graph);
  std::map<model::ValueId, model::Tensor> values;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    values.insert_or_assign(wanted[i], std::move(operands[i]));
  }
  for (const auto& [id, operand] : values) {
    digest.add(id, operand);
  }
  if (const auto known = outputs_.find(digest.value()); known != outputs_.end()) {
    return &known->second;
  }
  const model::GraphTotals sums = model::totals(fused.graph);
  if (sums.macs_saturated || sums.macs > macs_left_) {
    return nullptr;
  }
  macs_left_ -= sums.macs;
  std::vector<model::Tensor> outputs;
  if (!reference_model_outputs(fused.graph, values, outputs, after_layer).ok()) {
    return nullptr;
  }
  kept_ += bytes_of(outputs);
  if (kept_ > kMaxKept) {
    outputs_.clear();
    kept_ = bytes_of(outputs);
  }
  return &outputs_.emplace(digest.value(), std::move(outputs)).first->second;
}

std::optional<Deviation> ReferenceComparison::compare(const RequestedModel& model,
                                                      const ReadyModel& ready,
                                                      const std::function<void()>& after_layer) {
  const std::vector<model::Tensor>* const outputs = expected(model, ready, after_layer);
  return outputs == nullptr
             ? std::nullopt
             : std::optional(model.deviation(ready.outputs,
                                             *outputs,
                                             ready.rounding,
                                             tolerated_by_reference(ready.plan.fused.graph)));
}

}  // namespace plumb::engine
