// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/plan_builder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/model/key/rough_cost.hpp"
#include "runners/engine/exec/memory_plan.hpp"
#include "runners/onednn/exec/mapped_step.hpp"

namespace plumb::onednn {
namespace {

/// Returns whether a primitive of a plan writes the buffer. Other buffers may rely on the zeros
/// with which they were allocated.
bool is_result_of_primitive(const ExecutionPlan& plan, std::size_t buffer) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    const auto* primitive = std::get_if<PrimitiveStep>(&step);
    return primitive != nullptr && std::any_of(primitive->arguments.begin(),
                                               primitive->arguments.end(),
                                               [&](const PrimitiveStep::Argument& argument) {
                                                 return argument.buffer == buffer &&
                                                        argument.index == DNNL_ARG_DST;
                                               });
  });
}

Buffer intermediate(const dnnl::memory::desc& layout) {
  Buffer buffer;
  buffer.role = Buffer::Role::kIntermediate;
  buffer.view = layout;
  buffer.layout = layout;
  buffer.bytes = layout.get_size();
  return buffer;
}

}  // namespace

void PlanBuilder::set_variant(std::string variant) {
  model_.variants.resize(graph_.layers.size());
  model_.variants.at(layer_.value()) = std::move(variant);
}

std::size_t PlanBuilder::add_buffer(Buffer buffer) {
  model_.plan.buffers.push_back(std::move(buffer));
  return model_.plan.buffers.size() - 1;
}

std::size_t PlanBuilder::add_operand(model::ValueId value, Buffer buffer) {
  const auto [at, added] = operands_.try_emplace(value, model_.operands.size());
  if (added) {
    model_.operands.push_back(value);
  }
  buffer.role = Buffer::Role::kInput;
  buffer.operand = at->second;
  buffer.weight = is_constant(value);
  if (buffer.bytes == 0) {
    buffer.bytes = static_cast<std::size_t>(model::byte_size(graph_.values[value].type).value);
  }
  return add_buffer(std::move(buffer));
}

std::size_t PlanBuilder::add_reorder(std::size_t source,
                                     const dnnl::memory::desc& from,
                                     const dnnl::memory::desc& to) {
  ++model_.reorders;
  model_.reordered += Bytes{static_cast<std::int64_t>(from.get_size() + to.get_size())};
  return add_copy(source, from, to, true);
}

std::size_t PlanBuilder::add_move(std::size_t source,
                                  const dnnl::memory::desc& from,
                                  const dnnl::memory::desc& to) {
  return add_copy(source, from, to, false);
}

std::size_t PlanBuilder::add_copy(std::size_t source,
                                  const dnnl::memory::desc& from,
                                  const dnnl::memory::desc& to,
                                  bool reorder) {
  const std::size_t result = add_buffer(intermediate(to));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc description(
      device_.engine, from, device_.engine, to, attributes);
  PrimitiveStep step;
  step.primitive = make_primitive(description, model_.plan);
  step.arguments = {{DNNL_ARG_FROM, source, from, 0}, {DNNL_ARG_TO, result, to, 0}};
  append({{source}, {result}}, std::move(step), reorder);
  return result;
}

std::size_t PlanBuilder::add_packing(std::size_t source, const Buffer& wanted) {
  const std::size_t result = add_buffer(intermediate(wanted.view));
  append({{source}, {result}},
         KernelStep([pack = wanted.pack, source, result](std::span<std::byte* const> buffers) {
           pack(buffers[source], buffers[result]);
         }),
         true);
  return result;
}

void PlanBuilder::add_part(const ExecutionPlan& part, const std::vector<std::size_t>& map) {
  for (std::size_t index = 0; index < part.buffers.size(); ++index) {
    if (part.buffers[index].role == Buffer::Role::kIntermediate &&
        !is_result_of_primitive(part, index)) {
      apart_.insert(map[index]);
    }
  }
  model_.plan.scratchpad_bytes = std::max(model_.plan.scratchpad_bytes, part.scratchpad_bytes);
  const auto touch = [&](StepBuffers& touched, std::size_t buffer) {
    const bool input = part.buffers[buffer].role == Buffer::Role::kInput;
    (input ? touched.reads : touched.writes).push_back(map[buffer]);
    if (part.buffers[buffer].updated) {
      touched.writes.push_back(map[buffer]);
    }
  };
  for (const Step& step : part.steps) {
    StepBuffers touched;
    if (const auto* primitive = std::get_if<PrimitiveStep>(&step)) {
      for (const PrimitiveStep::Argument& argument : primitive->arguments) {
        touch(touched, argument.buffer);
      }
    } else {
      for (std::size_t i = 0; i < map.size(); ++i) {
        touch(touched, i);
      }
    }
    append(std::move(touched), mapped_step(step, map), false);
  }
}

ModelPlan PlanBuilder::finish(std::vector<std::size_t> outputs) {
  model_.plan.implementation = "plumb:model";
  model_.plan.outputs = std::move(outputs);
  model_.variants.resize(graph_.layers.size());
  if (lanes_ > 1) {
    schedule();
  }
  place_buffers();
  return std::move(model_);
}

bool PlanBuilder::is_constant(model::ValueId value) const {
  const std::optional<model::LayerId> producer = graph_.values[value].producer;
  if (producer) {
    return graph_.layers[*producer].role == model::Layer::Role::kFolded;
  }
  return std::find(graph_.inputs.begin(), graph_.inputs.end(), value) == graph_.inputs.end();
}

void PlanBuilder::append(StepBuffers touched, Step step, bool reorder) {
  const std::size_t number = model_.plan.steps.size();
  // A step needs the last writer of each buffer it uses. A writer also needs the readers since
  // then.
  std::set<std::size_t> needs;
  const auto use = [&](std::size_t buffer) -> Uses& {
    Uses& uses = uses_[buffer];
    if (uses.steps.empty() || uses.steps.back() != number) {
      uses.steps.push_back(number);
    }
    if (uses.maker && *uses.maker != number) {
      needs.insert(*uses.maker);
    }
    return uses;
  };
  for (const std::size_t buffer : touched.reads) {
    use(buffer).readers.push_back(number);
  }
  for (const std::size_t buffer : touched.writes) {
    Uses& uses = use(buffer);
    needs.insert(uses.readers.begin(), uses.readers.end());
    uses.readers.clear();
    uses.maker = number;
  }
  needs.erase(number);
  needs_.emplace_back(needs.begin(), needs.end());
  model_.plan.steps.push_back(std::move(step));
  model_.origins.push_back({layer_, reorder});
  model_.uses.push_back(std::move(touched));
}

/// Schedules the steps on the lanes. Each layer's cost (model::rough_cost()) is shared by its
/// steps, and each step also costs the bytes of its results.
void PlanBuilder::schedule() {
  std::map<std::optional<model::LayerId>, double> parts;
  for (const worker::StepOrigin& origin : model_.origins) {
    parts[origin.layer] += origin.reorder ? 0.0 : 1.0;
  }
  std::vector<double> costs(model_.origins.size(), 0.0);
  for (const auto& [buffer, uses] : uses_) {
    if (uses.maker) {
      costs[uses.steps.front()] += static_cast<double>(model_.plan.buffers[buffer].bytes);
    }
  }
  for (std::size_t step = 0; step < costs.size(); ++step) {
    const worker::StepOrigin& origin = model_.origins[step];
    if (origin.layer && !origin.reorder) {
      costs[step] += model::rough_cost(graph_.layers[*origin.layer].spec) / parts[origin.layer];
    }
  }
  model_.plan.schedule = engine::schedule_branches(needs_, costs, lanes_);
}

/// Places results in one block, in which those that are not needed at the same time share memory.
void PlanBuilder::place_buffers() {
  const std::size_t end = model_.plan.steps.size();  // when results are handed out
  for (const std::size_t output : model_.plan.outputs) {
    uses_[output].steps.push_back(end);
  }
  std::vector<std::size_t> placed;
  std::vector<engine::Lifetime> lifetimes;
  std::vector<engine::SharedPiece> pieces;
  for (const auto& [number, uses] : uses_) {
    const Buffer& buffer = model_.plan.buffers[number];
    // Buffers that are filled once, or may rely on their zeros, must not share memory.
    if (buffer.role == Buffer::Role::kIntermediate && !buffer.pack && !apart_.contains(number)) {
      placed.push_back(number);
      lifetimes.push_back({buffer.bytes, uses.steps.front(), uses.steps.back()});
      pieces.push_back({buffer.bytes, uses.steps});
    }
  }
  const engine::MemoryPlan memory =
      lanes_ > 1 ? engine::plan_memory(pieces, order_to(end)) : engine::plan_memory(lifetimes);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    model_.plan.buffers[placed[i]].arena = memory.offsets[i];
  }
  model_.plan.arena_bytes = memory.bytes;
}

engine::StepOrder PlanBuilder::order_to(std::size_t end) const {
  engine::StepNeeds needs = model_.plan.schedule.needs();
  needs.resize(end + 1);
  needs[end].resize(end);
  std::iota(needs[end].begin(), needs[end].end(), std::size_t{0});
  return engine::StepOrder(needs);
}

}  // namespace plumb::onednn
