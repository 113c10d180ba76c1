// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/reference_comparison.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/model/graph/graph.hpp"
#include "runners/engine/exec/model_values.hpp"
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
    most = layer.spec.math == model::LayerSpec::MathClass::kTf32 ? std::max(most, 0x1p-12) : most;
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
  const auto collect = [&] {
    return model.operands(ready.plan.fused, ready.prepared.operands, operands, ready.magnitudes);
  };
  if (!collect().ok()) {
    return {};
  }
  const double share = change_of(ready.plan.fused.graph);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].type.dtype == model::DataType::kF32) {
      change(operands[i], RandomStream(kSeed, i), share);
    }
  }
  const auto report = [&] {
    if (after_part) {
      after_part();
    }
  };
  report();
  worker::Program& program = *ready.prepared.program;
  program.bind(0, operands, false);
  operands.clear();  // weights and states may be gigabytes, and the outputs are as large
  report();
  program.enqueue(0);
  program.synchronize();
  report();
  std::vector<double> moved =
      distances_by_kind(program.outputs(0), ready.outputs, model.step()->kinds);
  report();
  PLUMB_CHECK(collect().ok());
  program.bind(0, operands, false);
  return moved;
}

namespace {

using Tensors = std::map<model::ValueId, model::Tensor>;

/// Counts how often each value is read: as an operand of what is computed, and as an output.
std::vector<std::size_t> count_reads(const model::Graph& graph) {
  std::vector<std::size_t> reads(graph.values.size());
  for (const model::Layer& layer : graph.layers) {
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (layer.role != model::Layer::Role::kFolded && layer.spec.has_input(i)) {
        ++reads.at(*layer.inputs[i]);
      }
    }
  }
  for (const model::ValueId output : graph.outputs) {
    ++reads.at(output);
  }
  return reads;
}

/// Takes a value for one of its reads: the value itself at the last one, else a copy.
model::Tensor take(Tensors::iterator value, std::vector<std::size_t>& reads, Tensors& values) {
  if (--reads.at(value->first) > 0) {
    return value->second;
  }
  model::Tensor taken = std::move(value->second);
  values.erase(value);
  return taken;
}

/// Returns what a tensor takes in float64.
std::int64_t bytes_as_numbers(const model::TensorType& type) {
  return element_count(type) * static_cast<std::int64_t>(sizeof(double));
}

}  // namespace

results::Outcome reference_model_outputs(const model::Graph& graph,
                                         Tensors values,
                                         std::vector<model::Tensor>& outputs,
                                         const std::function<void()>& after_layer) {
  std::vector<std::size_t> reads = count_reads(graph);
  for (const model::Layer& layer : graph.layers) {
    if (layer.role == model::Layer::Role::kFolded) {
      continue;
    }
    if (results::Outcome support = reference_support(layer.spec); !support.ok()) {
      return support;
    }
    std::vector<model::Tensor> operands;
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      operands.emplace_back();
      if (!layer.spec.has_input(i)) {
        continue;
      }
      const auto found = values.find(*layer.inputs[i]);
      if (found == values.end()) {
        return unknown_value(graph, *layer.inputs[i]);
      }
      operands.back() = take(found, reads, values);
      const model::TensorType& type = *layer.spec.inputs[i];
      if (element_count(type) == element_count(operands.back().type)) {
        // A fused bias may lack extents of 1 that its value has.
        operands.back().type.dims = type.dims;
      }
    }
    std::vector<model::Tensor> results = reference_outputs(layer.spec, operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (reads.at(layer.outputs[i]) > 0) {
        values[layer.outputs[i]] = std::move(results[i]);
      }
    }
    if (after_layer) {
      after_layer();
    }
  }
  for (const model::ValueId output : graph.outputs) {
    const auto found = values.find(output);
    if (found == values.end()) {
      return unknown_value(graph, output);
    }
    outputs.push_back(take(found, reads, values));
  }
  return {};
}

Bytes reference_memory(const model::Graph& graph, std::span<const model::ValueId> given) {
  std::vector<std::size_t> reads = count_reads(graph);
  const auto bytes_of_value = [&](model::ValueId id) {
    return model::byte_size(graph.values.at(id).type).value;
  };
  std::int64_t held = 0;
  for (const model::ValueId id : given) {
    held += bytes_of_value(id);
  }
  std::int64_t most = held;
  for (const model::Layer& layer : graph.layers) {
    if (layer.role == model::Layer::Role::kFolded) {
      continue;
    }
    std::int64_t beside = 0;  // while the layer is computed
    std::int64_t made = 0;
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (layer.spec.has_input(i)) {
        const model::ValueId id = *layer.inputs[i];
        const bool last = --reads.at(id) == 0;
        beside += bytes_as_numbers(*layer.spec.inputs[i]) + (last ? 0 : bytes_of_value(id));
        made -= last ? bytes_of_value(id) : 0;
      }
    }
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      const std::int64_t bytes = bytes_of_value(layer.outputs[i]);
      beside += bytes_as_numbers(graph.values[layer.outputs[i]].type) + bytes;
      made += reads.at(layer.outputs[i]) > 0 ? bytes : 0;
    }
    most = std::max(most, held + beside);
    held += made;
  }
  return Bytes{most};
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

bool ReferenceComparison::is_affordable(const model::Graph& graph) const {
  const model::Graph::Totals sums = model::totals(graph);
  return !sums.macs_saturated && sums.macs <= macs_left_;
}

bool ReferenceComparison::will_compute(const model::Graph& graph) const {
  OriginDigest digest;
  digest.add(graph);
  return is_affordable(graph) && !graphs_.contains(digest.value()) &&
         std::all_of(graph.layers.begin(), graph.layers.end(), [](const model::Layer& layer) {
           return layer.role == model::Layer::Role::kFolded || reference_support(layer.spec).ok();
         });
}

void ReferenceComparison::clear() {
  outputs_.clear();
  graphs_.clear();
  kept_ = {};
}

const std::vector<model::Tensor>* ReferenceComparison::expected(
    const RequestedModel& model,
    const ReadyModel& ready,
    const std::function<void()>& after_layer) {
  const rewrite::FusedGraph& fused = ready.plan.fused;
  const std::vector<model::ValueId>& wanted = ready.prepared.operands;
  OriginDigest digest;
  digest.add(fused.graph);
  const std::uint64_t of_graph = digest.value();
  std::vector<model::Tensor> operands;
  if ((!graphs_.contains(of_graph) && !is_affordable(fused.graph)) ||
      !model.operands(fused, wanted, operands, ready.magnitudes).ok()) {
    return nullptr;
  }
  Tensors values;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    values.insert_or_assign(wanted[i], std::move(operands[i]));
  }
  for (const auto& [id, operand] : values) {
    digest.add(id, operand);
  }
  if (const auto known = outputs_.find(digest.value()); known != outputs_.end()) {
    return &known->second;
  }
  if (!is_affordable(fused.graph)) {
    return nullptr;
  }
  macs_left_ -= model::totals(fused.graph).macs;
  std::vector<model::Tensor> outputs;
  if (!reference_model_outputs(fused.graph, std::move(values), outputs, after_layer).ok()) {
    return nullptr;
  }
  if (kept_ + bytes_of(outputs) > kMaxKept) {
    clear();
  }
  kept_ += bytes_of(outputs);
  graphs_.insert(of_graph);
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

Bytes verification_memory(const ReadyModel& ready,
                          const ReferenceComparison* reference,
                          bool on_device) {
  const model::Graph& graph = ready.plan.fused.graph;
  const auto bytes_of_values = [&](const std::vector<model::ValueId>& values) {
    Bytes total;
    for (const model::ValueId id : values) {
      total += model::byte_size(graph.values.at(id).type);
    }
    return total;
  };
  const Bytes outputs = bytes_of_values(graph.outputs);
  // The operands are kept until a device's graph was compared with its launches.
  Bytes most = bytes_of_values(ready.prepared.operands) + (on_device ? outputs : Bytes{});
  if (reference != nullptr && reference->will_compute(graph)) {
    most = std::max(most, reference_memory(graph, ready.prepared.operands));
  }
  return outputs + most;
}

}  // namespace plumb::engine
