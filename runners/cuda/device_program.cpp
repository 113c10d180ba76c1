// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/device_program.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {
namespace {

// The energy counter moves every few to a hundred milliseconds. These are enough of its moves for
// an interval, within a bounded time: with the default budget of 20 ms, a fifth of a second.
constexpr std::size_t kEnergySteps = 5;
constexpr double kEnergyBudgets = 10.0;
constexpr std::size_t kTraced = 50;  // executions under the profiler

}  // namespace

std::vector<std::byte> laid_out(const model::TensorType& type,
                                std::span<const std::byte> bytes,
                                TensorLayout layout,
                                bool back) {
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  const Dimensions dense = compute_strides(type.dims, TensorLayout::kChannelsFirst);
  const Dimensions laid = compute_strides(type.dims, layout);
  const auto size = static_cast<std::size_t>(model::element_bytes(type.dtype));
  if (dense == laid || size == 0) {
    return result;
  }
  for (std::size_t element = 0; element < bytes.size() / size; ++element) {
    auto left = static_cast<std::int64_t>(element);
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < dense.size(); ++axis) {
      place += left / dense[axis] * laid[axis];
      left %= dense[axis];
    }
    const std::size_t there = static_cast<std::size_t>(place) * size;
    const std::size_t here = element * size;
    std::memcpy(result.data() + (back ? here : there), bytes.data() + (back ? there : here), size);
  }
  return result;
}

DeviceProgram::DeviceProgram(const Device::Context& context,
                             model::LayerSpec spec,
                             ExecutionPlan plan,
                             DeviceProgram::Observers observers)
    : context_(context),
      observers_(observers),
      stream_(context.driver()),
      spec_(std::move(spec)),
      plan_(std::move(plan)) {
  const std::size_t streams =
      plan_.streams.empty() ? 1 : *std::max_element(plan_.streams.begin(), plan_.streams.end()) + 1;
  for (std::size_t i = 0; i < streams; ++i) {
    workspaces_.emplace_back(context.driver(), plan_.workspace_bytes);
  }
}

DeviceProgram::~DeviceProgram() {
  finish();
}

void DeviceProgram::finish() noexcept {
  try {
    stream_.synchronize();
  } catch (const std::exception&) {
    // What its work failed with was said when somebody waited for it. If it lost the context, the
    // process has ended: the next program is not charged with it.
  }
}

worker::Program::Facts DeviceProgram::facts() const {
  worker::Program::Facts facts;
  facts.implementation = plan_.implementation;
  facts.creation = plan_.creation;
  facts.workspace = Bytes{static_cast<std::int64_t>(plan_.workspace_bytes)};
  facts.activation_bytes = Bytes{static_cast<std::int64_t>(plan_.arena_bytes)};
  facts.attributes = plan_.attributes;
  for (const DeviceBuffer& buffer : plan_.buffers) {
    const Bytes bytes{static_cast<std::int64_t>(buffer.arena ? 0 : buffer.bytes)};
    (buffer.weight ? facts.weight_bytes : facts.activation_bytes) += bytes;
  }
  return facts;
}

void DeviceProgram::give_memory(Slot& slot, const Slot* shared) {
  abi::DevicePointer arena = 0;
  if (plan_.arena_bytes > 0 && shared == nullptr) {
    slot.owned.emplace_back(context_.driver(), plan_.arena_bytes);
    arena = slot.owned.back().address();
  }
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const DeviceBuffer& buffer = plan_.buffers[i];
    if (shared != nullptr && !buffer.weight) {
      slot.buffers.push_back(shared->buffers[i]);
    } else if (buffer.arena) {
      slot.buffers.push_back(arena + *buffer.arena);
    } else if (buffer.bytes == 0) {
      slot.buffers.push_back(0);
    } else {
      slot.owned.emplace_back(context_.driver(), buffer.bytes);
      slot.buffers.push_back(slot.owned.back().address());
    }
  }
}

void DeviceProgram::fill(const Slot& slot,
                         std::size_t input,
                         std::span<const model::Tensor> operands) {
  const DeviceBuffer& buffer = plan_.buffers[input];
  const model::Tensor& operand = operands[buffer.operand];
  PLUMB_CHECK(operand.data.size() == buffer.bytes);
  upload(context_.driver(),
         slot.buffers[input],
         laid_out(buffer.type, operand.data, buffer.layout, false));
}

void DeviceProgram::refill(std::size_t slot, std::span<const model::Tensor> operands) {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    if (plan_.buffers[i].updated) {
      fill(*slots_.at(slot), i, operands);
    }
  }
}

void DeviceProgram::bind(std::size_t slot, std::span<const model::Tensor> operands, bool shared) {
  PLUMB_CHECK(slot <= slots_.size());
  context_.use();
  synchronize();
  // The GPU is now done with the slots that are dropped.
  slots_.resize(slot);
  auto made = std::make_unique<Slot>();
  const Slot* const first = shared && slot > 0 ? slots_.front().get() : nullptr;
  try {
    give_memory(*made, first);
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const DeviceBuffer& buffer = plan_.buffers[i];
      if (buffer.role == DeviceBuffer::Role::kInput && buffer.bytes > 0 &&
          (first == nullptr || buffer.weight)) {
        fill(*made, i, operands);
      }
    }
    make_launches(*made);
  } catch (...) {
    finish();  // before the memory goes
    throw;
  }
  slots_.push_back(std::move(made));
}

void DeviceProgram::make_launches(Slot& slot) {
  for (const DeviceStep& step : plan_.once) {
    step.bind(slot.buffers, workspaces_.front().address())(stream_.get());
  }
  synchronize();
  for (std::size_t step = 0; step < plan_.steps.size(); ++step) {
    const std::size_t stream = plan_.streams.empty() ? 0 : plan_.streams[step];
    slot.launches.push_back(plan_.steps[step].bind(slot.buffers, workspaces_[stream].address()));
  }
}

void DeviceProgram::rehearse() {
  context_.use();
  Slot slot;
  try {
    give_memory(slot, nullptr);
    for (const Device::Memory& memory : slot.owned) {
      set_bytes(context_.driver(), memory.address(), 0, memory.size(), stream_.get());
    }
    make_launches(slot);
    for (const DeviceLaunch& launch : slot.launches) {
      launch(stream_.get());
    }
    synchronize();
  } catch (...) {
    finish();  // before the memory goes
    throw;
  }
}

void DeviceProgram::enqueue(std::size_t slot) {
  for (const DeviceLaunch& launch : slots_[slot]->launches) {
    launch(stream_.get());
  }
}

void DeviceProgram::synchronize() {
  stream_.synchronize();
}

std::vector<model::Tensor> DeviceProgram::outputs(std::size_t slot) {
  std::vector<model::Tensor> results;
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const std::size_t index = plan_.outputs[i];
    std::vector<std::byte> bytes(plan_.buffers[index].bytes);
    download(context_.driver(), bytes, slots_.at(slot)->buffers[index]);
    results.push_back({spec_.outputs.at(i),
                       laid_out(spec_.outputs[i], bytes, plan_.buffers[index].layout, true)});
  }
  return results;
}

std::vector<Seconds> DeviceProgram::profile(std::size_t slot) {
  Slot& bound = *slots_.at(slot);
  if (!bound.steps) {
    bound.steps.emplace(context_.driver(), stream_, bound.launches);
  }
  return bound.steps->sample();
}

std::size_t DeviceProgram::repeat(std::size_t slot) {
  enqueue(slot);
  synchronize();
  return 1;
}

std::vector<ManagedDevice::EnergyMark> DeviceProgram::energy_marks(std::size_t slot,
                                                                   Seconds at_most) {
  std::vector<ManagedDevice::EnergyMark> marks;
  ManagedDevice::EnergyMark mark;
  std::size_t moves = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (moves < kEnergySteps && std::chrono::steady_clock::now() - begin < at_most) {
    const std::optional<std::uint64_t> energy = observers_.management->energy();
    if (!energy) {
      return {};
    }
    mark.millijoules = *energy;
    moves += !marks.empty() && marks.back().millijoules != *energy ? 1U : 0U;
    marks.push_back(mark);
    mark.executions += repeat(slot);
  }
  return marks;
}

worker::Program::Observation DeviceProgram::traced(std::size_t slot) {
  return trace_observation(observers_.tracer->record([&] {
    for (std::size_t i = 0; i < kTraced; ++i) {
      put(slot);
    }
    synchronize();
  }),
                           kTraced);
}

worker::Program::Observation DeviceProgram::counted(std::size_t slot) {
  return observers_.counters->read(context_, [&](std::size_t executions) {
    for (std::size_t i = 0; i < executions; ++i) {
      put(slot);
    }
    synchronize();
  });
}

results::Attributes DeviceProgram::launched(std::size_t slot) {
  const DeviceStream::Graph::Captured graph(context_.driver(), stream_, [&] { put(slot); });
  return graph_attributes(read_contents(context_.driver().graph_calls(), graph.get()));
}

worker::Program::Observation DeviceProgram::collect_counters(std::size_t slot, Seconds budget) {
  worker::Program::Observation seen;
  const char* const missing =
      observers_.counters != nullptr ? "metrics_missing" : "kernels_missing";
  const auto attempt = [&seen, missing](const std::function<void()>& look) {
    try {
      look();
    } catch (const DynamicLibrary::Refusal& refusal) {
      seen.attributes[missing] = refusal.what();
    } catch (const Error& refusal) {
      seen.attributes[missing] = refusal.what();
    }
  };
  if (observers_.counters != nullptr) {
    attempt([&] { seen = counted(slot); });
    keep_declaration(seen.attributes, plan_.attributes);
    return seen;
  }
  if (observers_.tracer != nullptr) {
    attempt([&] { seen = traced(slot); });
  } else {
    attempt([&] { seen.attributes = launched(slot); });
    if (const double listing = plan_.listing.count(); listing > 0.0) {
      seen.readings["listing_seconds"] = {listing, listing, listing, 1};
    }
    if (budget > Seconds(0.0) && observers_.management != nullptr) {
      attempt([&] {
        const std::vector<ManagedDevice::EnergyMark> marks =
            energy_marks(slot, budget * kEnergyBudgets);
        if (const std::optional<results::Reading> joules = energy_per_execution(marks)) {
          seen.readings["energy_joules"] = *joules;
        }
      });
    }
  }
  keep_decision(seen.attributes, plan_.attributes);
  return seen;
}

}  // namespace plumb::cuda
