// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/recurrent_variants.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {
namespace {

int small(std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw Unsupported(fmt::format("{} exceeds the range of cuDNN's recurrent layers", value));
  }
  return static_cast<int>(value);
}

/// Returns how many bytes an element of cuDNN's type takes.
std::int64_t bytes_of(abi::CudnnCalls::Type type) {
  return type == abi::CudnnCalls::Type::kFloat ? 4 : 2;
}

}  // namespace

RecurrentExecution::RecurrentExecution(const CudnnLibrary& library,
                                       RecurrentProblem problem,
                                       abi::LegacyCalls::Recurrent::Algorithm algorithm)
    : library_(library),
      calls_(library.recurrent_calls()),
      problem_(std::move(problem)),
      algorithm_(algorithm) {
  abi::LegacyCalls::Recurrent calls = calls_;
  abi::for_each_recurrent_call(calls, [](const auto& call, const char* name) {
    if (call == nullptr) {
      throw Unsupported(fmt::format("this cuDNN has no {}", name));
    }
  });
  const abi::LegacyCalls& tensors = library.legacy_calls();
  if (tensors.create_tensor == nullptr || tensors.set_tensor == nullptr) {
    throw Unsupported("this cuDNN has no descriptors of tensors");
  }
  const model::RecurrentShape& s = problem_.shape;
  dropout_ = add(calls_.create_dropout, calls_.destroy_dropout);
  layer_ = add(calls_.create, calls_.destroy);
  library_.check(calls_.set(at(layer_),
                            algorithm_,
                            problem_.cell,
                            problem_.bias,
                            s.directions > 1 ? abi::LegacyCalls::Recurrent::Direction::kBoth
                                             : abi::LegacyCalls::Recurrent::Direction::kOne,
                            abi::kRecurrentLinearInput,
                            problem_.type,
                            abi::CudnnCalls::Type::kFloat,
                            problem_.math,
                            small(s.input),
                            small(s.hidden),
                            small(s.hidden),
                            1,
                            at(dropout_),
                            problem_.batch_first ? abi::kRecurrentPadded : 0),
                 "a recurrent layer");
  x_ = add(calls_.create_data, calls_.destroy_data);
  make_data(x_, s.input);
  y_ = add(calls_.create_data, calls_.destroy_data);
  make_data(y_, s.directions * s.hidden);
  state_ = add(tensors.create_tensor, tensors.destroy_tensor);
  make_state(state_);
  matrix_ = add(tensors.create_tensor, tensors.destroy_tensor);
  bias_ = add(tensors.create_tensor, tensors.destroy_tensor);
}

std::size_t RecurrentExecution::add(abi::LegacyCalls::Recurrent::Create create,
                                    abi::LegacyCalls::Recurrent::Destroy destroy) {
  descriptors_.push_back(make_owned(library_, create, destroy, "a descriptor"));
  return descriptors_.size() - 1;
}

void RecurrentExecution::make_data(std::size_t index, std::int64_t row) {
  const model::RecurrentShape& s = problem_.shape;
  const std::vector<int> lengths(static_cast<std::size_t>(s.batch), small(s.steps));
  library_.check(
      calls_.set_data(at(index),
                      problem_.type,
                      problem_.batch_first ? abi::LegacyCalls::Recurrent::Layout::kBatchFirst
                                           : abi::LegacyCalls::Recurrent::Layout::kTimeFirstPacked,
                      small(s.steps),
                      small(s.batch),
                      small(row),
                      lengths.data(),
                      nullptr),
      "a sequence");
}

void RecurrentExecution::make_state(std::size_t index) {
  const model::RecurrentShape& s = problem_.shape;
  const std::array<int, 3> extents{small(s.directions), small(s.batch), small(s.hidden)};
  const std::array<int, 3> strides{small(s.batch * s.hidden), small(s.hidden), 1};
  library_.check(library_.legacy_calls().set_tensor(
                     at(index), problem_.type, 3, extents.data(), strides.data()),
                 "a state");
}

RecurrentExecution::Memory RecurrentExecution::memory(const CudnnLibrary::Handle& handle) const {
  RecurrentExecution::Memory memory;
  std::size_t reserved = 0;
  library_.check(calls_.set_dropout(at(dropout_), handle.get(), 0.0F, nullptr, 0, 0), "no dropout");
  library_.check(calls_.weight_bytes(handle.get(), at(layer_), &memory.weights),
                 "the weights' size");
  library_.check(
      calls_.temporary_sizes(
          handle.get(), at(layer_), abi::kRecurrentInference, at(x_), &memory.workspace, &reserved),
      "the workspace's size");
  return memory;
}

std::vector<std::vector<RecurrentProblem::WeightPlace>> RecurrentExecution::places(
    const CudnnLibrary::Handle& handle, std::size_t bytes) const {
  // Only its address is used, to compute offsets. Nothing is read there.
  alignas(256) static constexpr std::byte kBase{};
  const std::int64_t size = bytes_of(problem_.type);
  const auto element = [&](const void* address) {
    return (static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address)) -
            static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&kBase))) /
           size;
  };
  std::vector<std::vector<RecurrentProblem::WeightPlace>> found;
  for (std::int64_t direction = 0; direction < problem_.shape.directions; ++direction) {
    std::vector<RecurrentProblem::WeightPlace>& pieces = found.emplace_back();
    for (std::int64_t piece = 0; piece < 2 * problem_.shape.gates; ++piece) {
      void* matrix = nullptr;
      void* bias = nullptr;
      library_.check(calls_.weight_place(handle.get(),
                                         at(layer_),
                                         static_cast<std::int32_t>(direction),
                                         bytes,
                                         &kBase,
                                         static_cast<std::int32_t>(piece),
                                         at(matrix_),
                                         &matrix,
                                         at(bias_),
                                         &bias),
                     "a gate's place");
      const bool has_bias = problem_.bias != abi::LegacyCalls::Recurrent::Bias::kNone;
      if (matrix == nullptr || (has_bias && bias == nullptr)) {
        throw Unsupported("cuDNN gives no address for a gate's weights");
      }
      pieces.push_back({element(matrix), has_bias ? element(bias) : 0});
    }
  }
  return found;
}

void RecurrentExecution::build(const CudnnLibrary::Handle& handle) const {
  if (algorithm_ == abi::LegacyCalls::Recurrent::Algorithm::kPersistDynamic) {
    library_.check(calls_.build_dynamic(handle.get(), at(layer_), small(problem_.shape.batch)),
                   "compiling a recurrent layer");
  }
}

void RecurrentExecution::run(const CudnnLibrary::Handle& handle,
                             std::span<const abi::DevicePointer> buffers,
                             std::size_t space,
                             const RecurrentExecution::Memory& memory,
                             void* workspace) const {
  const auto given = [&](const std::optional<std::size_t>& buffer) -> void* {
    return buffer ? abi::address_of(buffers[*buffer]) : nullptr;
  };
  library_.check(
      calls_.forward(handle.get(),
                     at(layer_),
                     abi::kRecurrentInference,
                     static_cast<const std::int32_t*>(abi::address_of(buffers[problem_.lengths])),
                     at(x_),
                     abi::address_of(buffers[problem_.x]),
                     at(y_),
                     abi::address_of(buffers[problem_.y]),
                     at(state_),
                     given(problem_.h0),
                     given(problem_.h),
                     at(state_),
                     given(problem_.c0),
                     given(problem_.c),
                     memory.weights,
                     abi::address_of(buffers[space]),
                     memory.workspace,
                     workspace,
                     0,
                     nullptr),
      "a recurrent layer");
}

namespace {

ExecutionPlan built(const model::LayerSpec& spec,
                    const std::shared_ptr<const RecurrentExecution>& execution,
                    const RecurrentExecution::Memory& memory,
                    CudnnLibrary::Handle& handle,
                    const KernelStep& kernel) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    execution->build(handle);
    const auto places = execution->places(handle, memory.weights);
    const RecurrentProblem& problem = execution->problem();
    const std::size_t space = spec.inputs.size() + spec.outputs.size() + problem.made.size();
    const auto bind = [execution, memory, space, &handle](
                          std::span<const abi::DevicePointer> buffers,
                          abi::DevicePointer workspace) {
      const std::vector<abi::DevicePointer> own(buffers.begin(), buffers.end());
      return DeviceLaunch([execution, memory, space, own, workspace, &handle](abi::Stream stream) {
        handle.use(stream);
        execution->run(handle, own, space, memory, abi::address_of(workspace));
      });
    };
    ExecutionPlan plan = recurrent_plan(
        spec,
        problem,
        [&](std::int64_t direction, std::int64_t piece) {
          return places.at(static_cast<std::size_t>(direction)).at(static_cast<std::size_t>(piece));
        },
        memory.weights,
        bind,
        kernel);
    plan.implementation = "cudnn-rnn";
    plan.workspace_bytes = memory.workspace;
    plan.creation = std::chrono::steady_clock::now() - begin;
    return plan;
  } catch (const CudnnLibrary::Refusal& refusal) {
    throw Unsupported(fmt::format("cuDNN: {}", refusal.what()));
  }
}

}  // namespace

std::vector<VariantBuilder> recurrent_variants(const model::LayerSpec& spec,
                                               CudnnLibrary::Handle& handle,
                                               const KernelStep& kernel) {
  const RecurrentProblem problem = recurrent_problem(spec);
  const bool adapted = !problem.before.empty() || !problem.behind.empty();
  std::vector<VariantBuilder> builders;
  std::string refusal;
  for (const auto& [name, algorithm] : kRecurrentAlgorithms) {
    try {
      const auto execution =
          std::make_shared<const RecurrentExecution>(handle.library(), problem, algorithm);
      const RecurrentExecution::Memory memory = execution->memory(handle);
      VariantBuilder builder;
      builder.text = fmt::format("impl=cudnn-rnn;algo={}{}", name, adapted ? ";operands=made" : "");
      builder.attributes = tensor_core_attributes({});
      builder.inputs.assign(spec.inputs.size(), TensorLayout::kChannelsFirst);
      builder.outputs.assign(spec.outputs.size(), TensorLayout::kChannelsFirst);
      builder.build = [spec, execution, memory, &handle, kernel] {
        return built(spec, execution, memory, handle, kernel);
      };
      builders.push_back(std::move(builder));
    } catch (const CudnnLibrary::Refusal& words) {
      refusal = refusal.empty() ? fmt::format("cuDNN: {}", words.what()) : refusal;
    }
  }
  if (builders.empty()) {
    throw Unsupported(refusal);
  }
  return builders;
}

}  // namespace plumb::cuda
