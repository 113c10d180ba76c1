// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/model_program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "runners/cuda/cublas_library.hpp"
#include "runners/cuda/cudnn_library.hpp"

namespace plumb::cuda {

ModelProgram::ModelProgram(const DeviceContext& context,
                           LayerSpec spec,
                           DevicePlan plan,
                           ModelMode mode,
                           StreamPlan branches)
    : DeviceProgram(context, std::move(spec), std::move(plan)),
      mode_(mode),
      branches_(std::move(branches)) {
  if (mode_ != ModelMode::kStreams) {
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

ProgramFacts ModelProgram::facts() const {
  ProgramFacts facts = DeviceProgram::facts();
  facts.implementation += fmt::format(";execution={}", to_text(mode_));
  if (!refusal_.empty()) {
    facts.implementation = fmt::format("plumb:model;execution=eager: {}", refusal_);
  } else if (!graphs_.empty() && graphs_.front()) {
    facts.implementation += fmt::format(";nodes={}", graphs_.front()->nodes());
  }
  return facts;
}

void ModelProgram::bind(std::size_t slot, std::span<const Tensor> operands, bool shared) {
  graphs_.resize(slot);
  DeviceProgram::bind(slot, operands, shared);
  graphs_.emplace_back();
  if (mode_ == ModelMode::kEager) {
    return;
  }
  // Twice: libraries may choose, load or allocate at a first and even at a second call.
  for (int i = 0; i < 2; ++i) {
    DeviceProgram::enqueue(slot);
    synchronize();
  }
  try {
    graphs_.back().emplace(context().driver(), stream(), [&] {
      if (mode_ == ModelMode::kStreams) {
        enqueue_branches(slot);
      } else {
        DeviceProgram::enqueue(slot);
      }
    });
  } catch (const LibraryRefusal& words) {
    refusal_ = words.what();
  }
  if (!refusal_.empty()) {
    fmt::print(stderr, "the model is executed launch after launch: {}\n", refusal_);
  }
}

void ModelProgram::enqueue_branches(std::size_t slot) {
  const auto stream_of = [&](std::size_t number) -> const DeviceStream& {
    return number == 0 ? stream() : others_[number - 1];
  };
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

void ModelProgram::enqueue(std::size_t slot) {
  if (graphs_[slot]) {
    graphs_[slot]->launch(stream().get());
  } else {
    DeviceProgram::enqueue(slot);
  }
}

}  // namespace plumb::cuda
