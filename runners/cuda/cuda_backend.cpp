// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/cuda_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/cuda/model_plan.hpp"
#include "runners/cuda/model_program.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kMaxStreams = 4;

/// Returns a layer that stands for a model in its program, with the model's outputs.
model::LayerSpec interface_of(const model::Graph& graph) {
  model::LayerSpec spec;
  spec.op = "model";
  for (const model::ValueId output : graph.outputs) {
    spec.outputs.push_back(graph.values[output].type);
  }
  return spec;
}

}  // namespace

CudaBackend::CudaBackend(const CudnnLibrary& library,
                         const Device& device,
                         Observers observers,
                         std::optional<int> harness)
    : library_(library),
      context_(device, harness),
      observers_(observers),
      cudnn_(library),
      kernels_(context_),
      stream_(context_.driver()) {
  try {
    cublas_.emplace();
    products_.emplace(*cublas_);
  } catch (const Error& missing) {
    no_products_ = missing.what();
  } catch (const CublasRefusal& refusal) {
    no_products_ = refusal.what();
  }
}

results::Environment CudaBackend::describe() const {
  results::Environment environment = library_.describe();
  context_.device().describe(environment);
  environment.facts["gpu.free_memory_bytes"] = fmt::format("{}", context_.free_memory().value);
  environment.facts["gpu.held_memory_bytes"] = fmt::format("{}", context_.held_memory().value);
  environment.facts["nvrtc.version"] = kernels_.compiler_version();
  return environment;
}

results::Outcome CudaBackend::outcome_of(const std::function<void()>& attempt) const {
  try {
    context_.use();
    attempt();
    return {};
  } catch (const Unsupported& refusal) {
    return {results::Outcome::Kind::kUnsupported, refusal.what()};
  } catch (const CudnnRefusal& refusal) {
    return {results::Outcome::Kind::kUnsupported, fmt::format("cuDNN: {}", refusal.what())};
  } catch (const CublasRefusal& refusal) {
    return {results::Outcome::Kind::kUnsupported, refusal.what()};
  } catch (const DriverRefusal& refusal) {
    if (!says_unsupported(refusal.status())) {
      throw;
    }
    return {results::Outcome::Kind::kUnsupported, refusal.what()};
  } catch (const std::bad_alloc&) {
    return {results::Outcome::Kind::kOutOfMemory,
            fmt::format("the GPU's memory is too small: {} bytes are free",
                        context_.free_memory().value)};
  }
}

BuilderSources CudaBackend::sources() const {
  return {cudnn_, products_ ? &*products_ : nullptr, no_products_, kernels_};
}

/// Returns the variants of a key. Listing takes up to seconds and is requested once per variant, so
/// the list of the last key is kept.
const std::vector<VariantBuilder>& CudaBackend::builders(const model::LayerKey& key) const {
  if (!listed_ || !(*listed_ == key)) {
    listed_.reset();
    const auto begin = std::chrono::steady_clock::now();
    builders_ = layer_variants(model::parse_key(key), sources());
    listing_ = std::chrono::steady_clock::now() - begin;
    listed_ = key;
  }
  return builders_;
}

results::Outcome CudaBackend::supports(const model::LayerKey& key) const {
  return outcome_of([&] { static_cast<void>(builders(key)); });
}

std::vector<worker::Variant> CudaBackend::variants(const model::LayerKey& key) const {
  std::vector<worker::Variant> variants;
  static_cast<void>(outcome_of([&] {
    for (const VariantBuilder& builder : builders(key)) {
      const bool channels_last =
          !builder.outputs.empty() && builder.outputs.front() == TensorLayout::kChannelsLast;
      variants.push_back(
          {builder.text, variants.empty(), false, channels_last, builder.attributes});
    }
  }));
  return variants;
}

worker::Prepared CudaBackend::prepare(const model::LayerKey& key, const std::string& variant) {
  worker::Prepared prepared;
  prepared.outcome = outcome_of([&] {
    const std::vector<VariantBuilder>& list = builders(key);
    const auto builder = std::find_if(
        list.begin(), list.end(), [&](const VariantBuilder& one) { return one.text == variant; });
    if (builder == list.end()) {
      throw Unsupported(
          fmt::format("these libraries have no variant '{}' of the key; their first is '{}'",
                      variant,
                      list.front().text));
    }
    ExecutionPlan plan = builder->build();
    if (memory_needed(plan) > context_.free_memory()) {
      throw std::bad_alloc();
    }
    plan.attributes.merge(results::Attributes(builder->attributes));
    plan.listing = listing_;
    auto program = std::make_unique<LayerProgram>(
        context_,
        model::parse_key(key),
        std::move(plan),
        observers_,
        [this](Bytes bytes, const DeviceStream& stream) { enqueue_sweep(bytes, stream); });
    program->rehearse();
    prepared.program = std::move(program);
  });
  return prepared;
}

worker::PreparedModel CudaBackend::prepare_model(const model::Graph& graph,
                                                 const worker::ModelOptions& options) {
  worker::PreparedModel prepared;
  prepared.outcome = outcome_of([&] {
    const LayerSource source{
        [this](const model::LayerSpec& spec) { return layer_variants(spec, sources()); },
        kernel_step(kernels_)};
    const worker::LaunchMode launches =
        options.parallel_branches ? worker::LaunchMode::kStreams
                                  : options.launches.value_or(worker::LaunchMode::kCaptured);
    const bool side_by_side = launches == worker::LaunchMode::kStreams;
    ModelPlan model = plan_model(graph, options.variants, source, side_by_side);
    StreamPlan branches;
    if (side_by_side) {
      branches = plan_streams(model.uses, kMaxStreams);
      model.plan.streams = branches.stream;
      if (options.parallel_branches && branches.streams == 1) {
        throw Unsupported("the model has no branches that could run side by side");
      }
    }
    prepared.memory = memory_needed(model.plan);
    if (prepared.memory > context_.free_memory()) {
      throw std::bad_alloc();
    }
    prepared.operands = std::move(model.operands);
    prepared.reorders = model.reorders;
    prepared.reordered = model.reordered;
    prepared.steps = std::move(model.origins);
    prepared.variants = std::move(model.variants);
    auto program = std::make_unique<ModelProgram>(context_,
                                                  interface_of(graph),
                                                  std::move(model.plan),
                                                  launches,
                                                  std::move(branches),
                                                  observers_);
    program->rehearse();
    prepared.program = std::move(program);
  });
  return prepared;
}

void CudaBackend::sweep(Bytes bytes) {
  enqueue_sweep(bytes, stream_);
  stream_.synchronize();
}

void CudaBackend::enqueue_sweep(Bytes bytes, const DeviceStream& stream) {
  const auto size = static_cast<std::size_t>(bytes.value);
  const Driver& driver = context_.driver();
  if (swept_.size() < size) {
    driver.check(driver.calls().context_synchronize(), "the end of earlier sweeps");
    swept_ = {};
    swept_ = DeviceMemory(context_.driver(), size);
  }
  set_bytes(driver, swept_.address(), 0, size, stream.get());
}

BytesPerSecond CudaBackend::copy_rate(Bytes most) {
  const std::int64_t share = context_.free_memory().value / 4;
  const auto size = static_cast<std::size_t>(std::min(most.value, share));
  if (size < 4 * static_cast<std::size_t>(context_.device().l2_cache().value)) {
    return {};  // the caches would hold the arrays
  }
  const Driver& driver = context_.driver();
  const DeviceMemory from(driver, size);
  const DeviceMemory to(driver, size);
  DeviceEvent begin(driver, true);
  DeviceEvent end(driver, true);
  BytesPerSecond best;
  for (int attempt = 0; attempt < 10; ++attempt) {
    begin.record(stream_.get());
    driver.check(driver.calls().memcpy_on_device(to.address(), from.address(), size, stream_.get()),
                 "a copy on the GPU");
    end.record(stream_.get());
    end.synchronize();
    const Seconds time = time_between(driver, begin, end);
    if (time > Seconds(0.0)) {
      best.value = std::max(best.value, 2.0 * static_cast<double>(size) / time.count());
    }
  }
  return best;
}

}  // namespace plumb::cuda
