// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/reference_comparison.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "harness/base/hash64.hpp"
#include "harness/model/graph/graph.hpp"
#include "runners/engine/exec/computed_constants.hpp"
#include "runners/engine/exec/output_difference.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::engine {
namespace {

constexpr std::uint64_t kSeed = 19;

/// Returns by what share of itself a number may change where a graph rounds: half of the last digit
/// of few digits, and what rounding leaves of a sum of a thousand products in f32.
double change_of(const model::Graph& graph) {
  double most = 0x1p-19;
  for (const model::Layer& layer : graph.layers) {
    most = layer.spec.math == model::MathClass::kTf32 ? std::max(most, 0x1p-12) : most;
    for (const model::TensorType& output : layer.spec.outputs) {
      most = output.dtype == model::DataType::kBf16  ? std::max(most, 0x1p-9)
             : output.dtype == model::DataType::kF16 ? std::max(most, 0x1p-12)
                                                     : most;
    }
  }
  return most;
}

/// Changes each number of a tensor by up to a share of it.
void change(model::Tensor& tensor, const RandomStream& random, double share) {
  const std::size_t count = tensor.data.size() / sizeof(float);
  for (std::size_t i = 0; i < count; ++i) {
    const double drawn = static_cast<double>(random.bits(i) >> 11U) * 0x1p-52 - 1.0;
    float number = 0.0F;
    std::memcpy(&number, tensor.data.data() + i * sizeof(float), sizeof(float));
    number *= static_cast<float>(1.0 + drawn * share);
    std::memcpy(tensor.data.data() + i * sizeof(float), &number, sizeof(float));
  }
}

}  // namespace

std::vector<double> measure_rounding(const RequestedModel& model,
                                     ReadyModel& ready,
                                     const std::function<void()>& after_part) {
  if (model.step() == nullptr) {
    return {};
  }
  std::vector<model::Tensor> operands;
  if (!model.operands(ready.plan.fused, ready.prepared.operands, operands, ready.magnitudes).ok()) {
    return {};
  }
  const double share = change_of(ready.plan.fused.graph);
  std::vector<model::Tensor> changed = operands;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (changed[i].type.dtype == model::DataType::kF32) {
      change(changed[i], RandomStream(kSeed, i), share);
    }
  }
  const auto report = [&] {
    if (after_part) {
      after_part();
    }
  };
  report();
  worker::Program& program = *ready.prepared.program;
  program.bind(0, changed, false);
  report();
  program.enqueue(0);
  program.synchronize();
  report();
  std::vector<double> moved =
      distances_by_kind(program.outputs(0), ready.outputs, model.step()->kinds);
  report();
  program.bind(0, operands, false);
  return moved;
}

results::Outcome reference_model_outputs(const model::Graph& graph,
                                         std::map<model::ValueId, model::Tensor>& values,
                                         std::vector<model::Tensor>& outputs,
                                         const std::function<void()>& after_layer) {
  for (const model::Layer& layer : graph.layers) {
    if (layer.role == model::Layer::Role::kFolded) {
      continue;
    }
    if (results::Outcome support = reference_support(layer.spec); !support.ok()) {
      return support;
    }
    std::vector<model::Tensor> operands;
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (layer.spec.has_input(i) && !values.contains(*layer.inputs[i])) {
        return unknown_value(graph, *layer.inputs[i]);
      }
      operands.push_back(layer.spec.has_input(i) ? values.at(*layer.inputs[i]) : model::Tensor{});
      const model::TensorType type = layer.spec.inputs[i].value_or(model::TensorType{});
      if (layer.spec.has_input(i) && element_count(type) == element_count(operands[i].type)) {
        operands[i].type.dims = type.dims;  // a fused bias may lack extents of 1 that its value has
      }
    }
    std::vector<model::Tensor> results = reference_outputs(layer.spec, operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      values[layer.outputs[i]] = std::move(results[i]);
    }
    if (after_layer) {
      after_layer();
    }
  }
  for (const model::ValueId output : graph.outputs) {
    if (!values.contains(output)) {
      return unknown_value(graph, output);
    }
    outputs.push_back(values.at(output));
  }
  return {};
}

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
