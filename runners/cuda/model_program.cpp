// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/model_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "harness/results/labels/variant_id.hpp"
#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/engine/plan/graph_planner.hpp"

namespace plumb::cuda {

ModelProgram::StreamPlan plan_streams(std::span<const engine::PlanBuffer::Uses> steps,
                                      std::size_t most) {
  const engine::StepNeeds before = engine::step_needs(steps);
  ModelProgram::StreamPlan plan;
  plan.stream.resize(steps.size());
  plan.waits.resize(steps.size());
  std::vector<std::optional<std::size_t>> last;  // newest step of each stream
  for (std::size_t step = 0; step < steps.size(); ++step) {
    std::optional<std::size_t> chosen;
    // On the stream of its newest dependency, a step need not wait for that one by an event.
    for (auto earlier = before[step].rbegin(); earlier != before[step].rend() && !chosen;
         ++earlier) {
      if (last[plan.stream[*earlier]] == *earlier) {
        chosen = plan.stream[*earlier];
      }
    }
    if (!chosen && last.size() < std::max<std::size_t>(most, 1)) {
      chosen = last.size();
      last.emplace_back();
    }
    if (!chosen) {  // all in use: the one whose newest step is the oldest
      chosen = static_cast<std::size_t>(std::min_element(last.begin(), last.end()) - last.begin());
    }
    plan.stream[step] = *chosen;
    last[*chosen] = step;
    for (const std::size_t earlier : before[step]) {
      if (plan.stream[earlier] != *chosen) {
        plan.waits[step].push_back(earlier);
      }
    }
  }
  plan.streams = std::max<std::size_t>(last.size(), 1);
  return plan;
}

ModelProgram::ModelProgram(const Device::Context& context,
                           model::LayerSpec spec,
                           ExecutionPlan plan,
                           worker::Backend::LaunchMode mode,
                           ModelProgram::StreamPlan branches,
                           DeviceProgram::Observers observers)
    : DeviceProgram(context, std::move(spec), std::move(plan), observers),
      mode_(mode),
      branches_(std::move(branches)) {
  if (mode_ != worker::Backend::LaunchMode::kStreams) {
    return;
  }
  joins_.reserve(branches_.streams);
  for (std::size_t i = 0; i < branches_.streams; ++i) {
    joins_.emplace_back(context.driver(), false);
  }
  others_.reserve(branches_.streams);
  for (std::size_t i = 1; i < branches_.streams; ++i) {
    others_.emplace_back(context.driver());
  }
  ended_.resize(branches_.stream.size());
  for (const std::vector<std::size_t>& waits : branches_.waits) {
    for (const std::size_t step : waits) {
      if (!ended_[step]) {
        ended_[step].emplace(context.driver(), false);
      }
    }
  }
}

worker::Program::Facts ModelProgram::facts() const {
  worker::Program::Facts facts = DeviceProgram::facts();
  facts.implementation += fmt::format(";execution={}", to_text(mode_));
  if (!refusal_.empty()) {
    facts.implementation = fmt::format("plumb:model;execution=eager: {}", refusal_);
  } else if (!graphs_.empty() && graphs_.front()) {
    facts.implementation += fmt::format(";nodes={}", graphs_.front()->nodes());
  }
  return facts;
}

void ModelProgram::bind(std::size_t slot, std::span<const model::Tensor> operands, bool shared) {
  std::optional<DeviceStream::Graph> before(graphs_.size() > slot ? std::move(graphs_[slot])
                                                                  : std::nullopt);
  graphs_.resize(slot);
  inputs_.clear();
  outputs_.clear();
  DeviceProgram::bind(slot, operands, shared);
  graphs_.emplace_back();
  if (mode_ == worker::Backend::LaunchMode::kEager) {
    return;
  }
  // Libraries may choose, load or allocate at their first and even at their second call.
  for (int i = 0; i < 2; ++i) {
    DeviceProgram::enqueue(slot);
    synchronize();
  }
  refill(slot, operands);
  try {
    graphs_.back().emplace(
        context().driver(), stream(), [&] { put(slot); }, std::move(before));
  } catch (const DynamicLibrary::Refusal& words) {
    refusal_ = words.what();
  }
  if (!refusal_.empty()) {
    fmt::print(stderr, "the model is executed launch after launch: {}\n", refusal_);
  }
  spoil(slot);
}

void ModelProgram::spoil(std::size_t slot) {
  constexpr unsigned char kNotANumber = 0xFF;  // in each byte of a floating type
  for (std::size_t i = 0; i < plan().buffers.size(); ++i) {
    const DeviceBuffer& buffer = plan().buffers[i];
    if (buffer.role != DeviceBuffer::Role::kInput && !buffer.weight) {
      set_bytes(
          context().driver(), slot_at(slot).buffers[i], kNotANumber, buffer.bytes, stream().get());
    }
  }
  synchronize();
}

std::vector<model::Tensor> ModelProgram::outputs_launch_by_launch(
    std::size_t slot, std::span<const model::Tensor> operands) {
  if (!graphs_.at(slot)) {
    return {};
  }
  synchronize();
  refill(slot, operands);
  DeviceProgram::enqueue(slot);
  synchronize();
  return outputs(slot);
}

void ModelProgram::put(std::size_t slot) {
  if (mode_ == worker::Backend::LaunchMode::kStreams) {
    enqueue_branches(slot);
  } else {
    DeviceProgram::enqueue(slot);
  }
}

void ModelProgram::enqueue_branches(std::size_t slot) {
  const auto stream_of = [&](std::size_t number) -> const DeviceStream& {
    return number == 0 ? stream() : others_[number - 1];
  };
  // A capture includes other streams only if they fork from this one and join it again.
  joins_.front().record(stream().get());
  for (const DeviceStream& other : others_) {
    other.wait_for(joins_.front());
  }
  const std::vector<DeviceLaunch>& launches = slot_at(slot).launches;
  for (std::size_t step = 0; step < launches.size(); ++step) {
    const DeviceStream& own = stream_of(branches_.stream[step]);
    for (const std::size_t earlier : branches_.waits[step]) {
      own.wait_for(*ended_[earlier]);
    }
    launches[step](own.get());
    if (ended_[step]) {
      ended_[step]->record(own.get());
    }
  }
  for (std::size_t i = 0; i < others_.size(); ++i) {
    joins_[i + 1].record(others_[i].get());
    stream().wait_for(joins_[i + 1]);
  }
}

std::span<std::byte> ModelProgram::mirror(
    std::size_t buffer, std::map<std::size_t, Device::Memory::Mirror>& mirrors) const {
  context().use();
  return mirrors
      .try_emplace(
          buffer, context().driver(), slot_at(0).buffers.at(buffer), plan().buffers[buffer].bytes)
      .first->second.bytes();
}

std::span<std::byte> ModelProgram::input_bytes(std::size_t slot, std::size_t operand) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < plan().buffers.size(); ++i) {
    const DeviceBuffer& buffer = plan().buffers[i];
    if (buffer.role != DeviceBuffer::Role::kInput || buffer.operand != operand) {
      continue;
    }
    if (found || buffer.weight ||
        !same_order(buffer.type.dims, buffer.layout, TensorLayout::kChannelsFirst)) {
      return {};  // several copies, or one that is made from the operand
    }
    found = i;
  }
  if (slot != 0 || !found || plan().buffers[*found].bytes == 0) {
    return {};
  }
  const std::span<std::byte> bytes = mirror(*found, inputs_);
  download(context().driver(), bytes, slot_at(0).buffers[*found]);
  return bytes;
}

std::span<const std::byte> ModelProgram::output_bytes(std::size_t slot, std::size_t output) {
  const std::size_t index = plan().outputs.at(output);
  const DeviceBuffer& buffer = plan().buffers[index];
  if (slot != 0 || buffer.bytes == 0 ||
      !same_order(buffer.type.dims, buffer.layout, TensorLayout::kChannelsFirst)) {
    return {};
  }
  return mirror(index, outputs_);
}

void ModelProgram::enqueue(std::size_t slot) {
  if (slot != 0 || (inputs_.empty() && outputs_.empty())) {
    enqueue_model(slot);
    return;
  }
  context().use();  // lanes of a load execute in threads of their own
  for (const auto& [buffer, mirror] : inputs_) {
    mirror.enqueue_upload(stream().get());
  }
  enqueue_model(slot);
  for (const auto& [buffer, mirror] : outputs_) {
    mirror.enqueue_download(stream().get());
  }
}

void ModelProgram::enqueue_model(std::size_t slot) {
  if (graphs_[slot]) {
    graphs_[slot]->launch(stream().get());
  } else {
    DeviceProgram::enqueue(slot);
  }
}

namespace {

class ModelPlanner final
    : public engine::GraphPlanner<ModelPlanner, ExecutionPlan, VariantBuilder, TensorLayout> {
 public:
  ModelPlanner(const model::Graph& graph,
               const worker::LayerVariants& variants,
               const ModelProgram::Source& source,
               Parts& parts,
               bool apart)
      : GraphPlanner(graph, variants, parts), source_(source), apart_(apart) {}

  static constexpr bool kSharesConstants = true;

  static std::optional<ExecutionPlan> build(const VariantBuilder& builder, std::string& refusal) {
    try {
      return builder.build();
    } catch (const Unsupported& words) {
      refusal = words.what();
    } catch (const DynamicLibrary::Refusal& words) {
      refusal = words.what();
    }
    return std::nullopt;
  }

  static DeviceBuffer buffer_in(const model::TensorType& type, TensorLayout layout) {
    DeviceBuffer buffer;
    buffer.type = type;
    buffer.layout = layout;
    buffer.bytes = static_cast<std::size_t>(model::byte_size(type).value);
    return buffer;
  }
  static TensorLayout layout_of(const DeviceBuffer& buffer) { return buffer.layout; }
  static TensorLayout dense_form(TensorLayout /*layout*/) { return TensorLayout::kChannelsFirst; }
  static bool is_dense(TensorLayout layout, const model::TensorType& type) {
    return same_order(type.dims, layout, TensorLayout::kChannelsFirst);
  }
  static bool fits(TensorLayout layout, const DeviceBuffer& wanted, const model::TensorType& type) {
    return same_order(type.dims, layout, wanted.layout);
  }
  static bool shares_memory(const ExecutionPlan& part, std::size_t buffer) {
    return !part.buffers[buffer].weight && part.buffers[buffer].bytes > 0;
  }
  static const engine::PlanBuffer::Uses& uses_of(const ExecutionPlan& /*part*/,
                                                 const DeviceStep& step) {
    return step.buffers;
  }

  /// A library's choice is not changed. Of built-in kernels, the one that takes its inputs as they
  /// lie needs the fewest reorders.
  const VariantBuilder& preferred(const model::Layer& layer,
                                  const std::vector<VariantBuilder>& list) {
    if (!results::VariantId(list.front().text).is_own()) {
      return list.front();
    }
    return *std::max_element(list.begin(), list.end(), [&](const auto& a, const auto& b) {
      return matches(layer, a) < matches(layer, b);
    });
  }

  std::size_t change_layout(model::ValueId value, const DeviceBuffer& wanted) {
    const Place first = places_of(value).front();
    return reorder(value, first, wanted.layout).buffer;
  }

  DeviceStep reorder_step(const model::TensorType& type, const Place& from, const Place& to) {
    return source_.step(layout_change(type, from.layout, to.layout, 0, 1),
                        {from.buffer, to.buffer});
  }

  void join(const ExecutionPlan& part, const std::vector<std::size_t>& map) {
    for (const DeviceStep& step : part.once) {
      planned().plan.once.push_back(mapped(step, map));
    }
    for (std::size_t i = 0; i < part.buffers.size(); ++i) {
      if (part.buffers[i].updated) {
        planned().plan.buffers.at(map.at(i)).updated = true;
      }
    }
  }

  engine::MemoryPlan place(std::vector<engine::MemoryPlan::Piece> pieces) {
    if (apart_) {  // steps on other streams may run at any time, so each buffer lives to the end
      for (engine::MemoryPlan::Piece& piece : pieces) {
        piece.steps = {0, planned().plan.steps.size()};
      }
    }
    return engine::plan_memory(pieces, engine::MemoryPlan::kDeviceAlignment);
  }

 private:
  /// Counts the activations that already lie in the layout that a variant wants.
  [[nodiscard]] std::size_t matches(const model::Layer& layer,
                                    const VariantBuilder& builder) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < builder.inputs.size(); ++i) {
      if (!layer.spec.has_input(i)) {
        continue;
      }
      const model::ValueId value = operand_of(layer, i);
      const std::vector<Place>& places = places_of(value);
      const bool lies = std::any_of(places.begin(), places.end(), [&](const Place& place) {
        return place.layout == builder.inputs[i];
      });
      count += lies && !is_constant(value) ? 1U : 0U;
    }
    return count;
  }

  const ModelProgram::Source& source_;
  bool apart_;
};

}  // namespace

ModelPlan plan_model(const model::Graph& graph,
                     const worker::LayerVariants& variants,
                     const ModelProgram::Source& source,
                     bool apart) {
  engine::LayerParts<VariantBuilder, ExecutionPlan> parts(source.builders);
  return ModelPlanner(graph, variants, source, parts, apart).plan();
}

}  // namespace plumb::cuda
