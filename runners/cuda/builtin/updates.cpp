// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {
namespace {

using Buffers = std::vector<std::size_t>;

void append(Buffers& to, const Buffers& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Returns a number of the rule. Zero: this rule has none of the name.
double number_of(const model::LayerSpec& spec, const char* name) {
  return spec.attributes.contains(name) ? spec.real(name) : 0.0;
}

/// Throws Unsupported with the words if an operand is not dense, not f32 or constant.
void check_operands(const model::LayerSpec& spec, const char* words) {
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    if (!input || input->dtype != model::DataType::kF32 || input->constant ||
        !input->strides.empty()) {
      throw Unsupported(words);
    }
  }
}

/// Adds a tensor to the shape of a launch, and returns the chunks of all its tensors. Throws
/// Unsupported if the tensor has no elements.
std::int64_t add_tensor(kernels::UpdateShape& shape, std::int64_t count) {
  if (count == 0) {
    throw Unsupported("a tensor without elements");
  }
  const std::int64_t before = shape.tensors == 0 ? 0 : shape.ends[shape.tensors - 1];
  shape.counts[shape.tensors] = count;
  shape.ends[shape.tensors] = before + (count + kernels::kChunk - 1) / kernels::kChunk;
  return shape.ends[shape.tensors++];
}

/// Completes a launch. It writes its first `outputs` operands, of which it also reads the first
/// `updated`.
KernelLaunch finished(KernelLaunch launch, std::size_t outputs, std::size_t updated) {
  launch.outputs = outputs;
  launch.updated = updated;
  launch.addresses = kernels::kMaxUpdateOperands;
  return launch;
}

model::TensorType numbers(std::int64_t count) {
  return {model::DataType::kF32, {count}};
}

/// Tensors of an update that the same launches update.
class TensorGroup {
 public:
  /// Takes the tensors from `first` to before `end`. Buffers from `scratch` on are the group's.
  TensorGroup(const model::LayerSpec& spec, std::size_t first, std::size_t end, std::size_t scratch)
      : spec_(spec), layer_(spec), first_(first), end_(end), scratch_(scratch) {
    shape_.rate = number_of(spec, "rate");
    shape_.decay = number_of(spec, "decay");
    shape_.momentum = number_of(spec, "momentum");
    shape_.beta1 = number_of(spec, "beta1");
    shape_.beta2 = number_of(spec, "beta2");
    shape_.epsilon = number_of(spec, "epsilon");
    shape_.decays_weights = spec.op == "adam" && spec.text("decay_of") == "weights" ? 1 : 0;
    for (std::size_t tensor = first; tensor < end; ++tensor) {
      chunks_ = add_tensor(shape_, element_count(*spec.inputs[layer_.weights(tensor)]));
    }
  }

  /// Lists the buffers that the launches pass to one another.
  [[nodiscard]] std::vector<model::TensorType> scratch() const {
    const std::int64_t tensors = shape_.tensors;
    if (spec_.op == "sgd") {
      return {};
    }
    if (spec_.op == "adam") {
      return {numbers(2 * tensors)};
    }
    return {numbers(2 * tensors), numbers(2 * chunks_), numbers(tensors)};
  }

  [[nodiscard]] std::vector<KernelLaunch> launches() const {
    if (spec_.op == "sgd") {
      return {descent()};
    }
    std::vector<KernelLaunch> result{counted_steps()};
    if (spec_.op == "adam") {
      result.push_back(
          chunk_launch("adam", {kWeights, kFirst, kSecond}, {kGradient}, {corrections()}));
      return result;
    }
    result.push_back(moments());
    result.push_back(rates());
    result.push_back(
        chunk_launch("lamb", {kWeights}, {kFirst, kSecond}, {corrections(), tensor_rates()}));
    return result;
  }

 private:
  /// Place of an operand among those of its tensor.
  enum Place : std::size_t { kWeights, kGradient, kFirst, kSecond, kSteps };

  /// Returns some operands of each tensor, tensor after tensor.
  [[nodiscard]] Buffers of_each(const std::vector<Place>& places) const {
    Buffers buffers;
    for (std::size_t tensor = first_; tensor < end_; ++tensor) {
      for (const Place place : places) {
        buffers.push_back(layer_.weights(tensor) + place);
      }
    }
    return buffers;
  }
  [[nodiscard]] std::size_t corrections() const { return scratch_; }
  [[nodiscard]] std::size_t sums() const { return scratch_ + 1; }
  [[nodiscard]] std::size_t tensor_rates() const { return scratch_ + 2; }

  /// Adds the condition, if there is one, to a launch's operands, and returns the launch's shape.
  [[nodiscard]] kernels::UpdateShape conditional(Buffers& operands) const {
    kernels::UpdateShape shape = shape_;
    shape.condition = layer_.condition() ? static_cast<int>(operands.size()) : -1;
    if (layer_.condition()) {
      operands.push_back(*layer_.condition());
    }
    return shape;
  }

  /// Makes a launch of a kernel whose blocks work on chunks, each element by itself. It updates
  /// `written` of each tensor, and reads `read` of each and `behind`.
  [[nodiscard]] KernelLaunch chunk_launch(std::string call,
                                          const std::vector<Place>& written,
                                          const std::vector<Place>& read,
                                          const Buffers& behind) const {
    Buffers operands = of_each(written);
    const std::size_t updated = operands.size();
    append(operands, of_each(read));
    append(operands, behind);
    const kernels::UpdateShape shape = conditional(operands);
    constexpr kernels::Index kThreads = 256;  // element_launch()'s: a block for each chunk
    return finished(
        element_launch(std::move(call), "UpdateShape", shape, chunks_ * kThreads, operands),
        updated,
        updated);
  }

  [[nodiscard]] KernelLaunch descent() const {
    return layer_.states() == 0 ? chunk_launch("sgd<false>", {kWeights}, {kGradient}, {})
                                : chunk_launch("sgd<true>", {kWeights, kFirst}, {kGradient}, {});
  }

  [[nodiscard]] KernelLaunch counted_steps() const {
    Buffers operands = of_each({kSteps});
    const std::size_t updated = operands.size();
    operands.push_back(corrections());
    const kernels::UpdateShape shape = conditional(operands);
    return finished(element_launch("count_steps", "UpdateShape", shape, shape.tensors, operands),
                    updated + 1,
                    updated);
  }

  [[nodiscard]] KernelLaunch moments() const {
    Buffers operands = of_each({kFirst, kSecond});
    const std::size_t updated = operands.size();
    operands.push_back(sums());
    append(operands, of_each({kWeights, kGradient}));
    operands.push_back(corrections());
    const kernels::UpdateShape shape = conditional(operands);
    return finished(block_launch("lamb_moments", "UpdateShape", shape, chunks_, operands),
                    updated + 1,
                    updated);
  }

  [[nodiscard]] KernelLaunch rates() const {
    Buffers operands{tensor_rates(), sums()};
    const kernels::UpdateShape shape = conditional(operands);
    return finished(
        block_launch("lamb_rates", "UpdateShape", shape, shape.tensors, operands), 1, 0);
  }

  const model::LayerSpec& spec_;
  model::UpdateShape layer_;
  std::size_t first_;
  std::size_t end_;
  std::size_t scratch_;
  std::int64_t chunks_ = 0;
  kernels::UpdateShape shape_{};
};

/// Writes an update with the same launches for every `tensors` tensors. Throws Unsupported.
BuiltinLayer update_layer(const model::LayerSpec& spec, std::size_t tensors) {
  check_operands(spec, "weights are updated in f32, and none is constant");
  const model::UpdateShape shape(spec);
  const BuiltinLayer::Operands operands(spec, TensorLayout::kChannelsFirst);
  BuiltinLayer layer{{}, operands.input_layouts(), operands.output_layouts(), {}};
  for (std::size_t first = 0; first < shape.tensors(); first += tensors) {
    const TensorGroup group(spec,
                            first,
                            std::min(first + tensors, shape.tensors()),
                            spec.inputs.size() + layer.scratch.size());
    for (KernelLaunch& launch : group.launches()) {
      layer.launches.push_back(std::move(launch));
    }
    for (model::TensorType& type : group.scratch()) {
      layer.scratch.push_back(std::move(type));
    }
  }
  return layer;
}

BuiltinLayer update_at_once(const model::LayerSpec& spec) {
  return update_layer(spec, static_cast<std::size_t>(kernels::kMaxTensors));
}

/// Writes the layer that adapts a loss scale: a launch for each group of gradients, and one that
/// reads what these found. Throws Unsupported.
BuiltinLayer loss_scale_layer(const model::LayerSpec& spec) {
  constexpr std::size_t kFirstGradient = 2;
  constexpr auto kGroup = static_cast<std::size_t>(kernels::kMaxTensors);
  check_operands(spec, "gradients are checked in f32, and none is constant");
  const BuiltinLayer::Operands own(spec, TensorLayout::kChannelsFirst);
  BuiltinLayer layer{{}, own.input_layouts(), own.output_layouts(), {}};
  Buffers operands{own.output_buffer(0), own.output_buffer(1), own.output_buffer(2), 0, 1};
  kernels::LossScaleShape rule{};
  rule.backoff = static_cast<float>(spec.real("backoff"));
  rule.growth = static_cast<float>(spec.real("growth"));
  rule.interval = static_cast<float>(spec.integer("interval"));
  for (std::size_t first = kFirstGradient; first < spec.inputs.size(); first += kGroup) {
    PLUMB_CHECK(rule.groups < kernels::kMaxGroups);
    kernels::UpdateShape shape{};
    shape.condition = -1;
    const std::size_t flags = own.output_buffer(spec.outputs.size()) + layer.scratch.size();
    Buffers gradients{flags};
    std::int64_t chunks = 0;
    for (std::size_t i = first; i < std::min(first + kGroup, spec.inputs.size()); ++i) {
      chunks = add_tensor(shape, element_count(*spec.inputs[i]));
      gradients.push_back(i);
    }
    layer.launches.push_back(
        finished(block_launch("find_overflows", "UpdateShape", shape, chunks, gradients), 1, 0));
    layer.scratch.push_back(numbers(chunks));
    operands.push_back(flags);
    rule.chunks[rule.groups++] = chunks;
  }
  layer.launches.push_back(
      finished(block_launch("adapt_loss_scale", "LossScaleShape", rule, 1, operands), 3, 0));
  return layer;
}

}  // namespace

std::vector<KernelLaunch> update_tensors(const BuiltinLayer::Operands& operands) {
  return update_at_once(operands.spec()).launches;
}

std::vector<model::TensorType> update_scratch(const model::LayerSpec& spec) {
  return update_at_once(spec).scratch;
}

std::vector<KernelLaunch> adapt_scale(const BuiltinLayer::Operands& operands) {
  return loss_scale_layer(operands.spec()).launches;
}

std::vector<model::TensorType> loss_scale_scratch(const model::LayerSpec& spec) {
  return loss_scale_layer(spec).scratch;
}

BuiltinLayer update_by_tensor(const model::LayerSpec& spec) {
  return update_layer(spec, 1);
}

}  // namespace plumb::cuda
