// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/cuda_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/builtin/integer_variants.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/dnn/legacy/legacy_problem.hpp"
#include "runners/cuda/dnn/legacy/recurrent_variants.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/event_clock.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/model_program.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {
namespace {

/// Function that puts a write over so many bytes of the GPU's caches into a stream.
using Sweep = std::function<void(Bytes, const DeviceStream&)>;

/// Program that runs the plan of a layer and times it by the GPU's own clock.
class LayerProgram final : public DeviceProgram, public worker::Program::DeviceClock {
 public:
  LayerProgram(const Device::Context& context,
               model::LayerSpec spec,
               ExecutionPlan plan,
               DeviceProgram::Observers observers,
               Sweep sweep);

  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override;
  [[nodiscard]] worker::Program::DeviceClock::Sample sample(
      std::span<const std::size_t> slots) override;
  [[nodiscard]] worker::Program::DeviceClock::Sample sample_cold(
      std::size_t slot, Bytes swept, std::optional<std::size_t> warm) override;

 protected:
  std::size_t repeat(std::size_t slot) override { return clock_.replay(std::span(&slot, 1)); }

 private:
  Sweep sweep_;
  EventClock clock_;
};

LayerProgram::LayerProgram(const Device::Context& context,
                           model::LayerSpec spec,
                           ExecutionPlan plan,
                           DeviceProgram::Observers observers,
                           Sweep sweep)
    : DeviceProgram(context, std::move(spec), std::move(plan), observers),
      sweep_(std::move(sweep)),
      clock_(context.driver(), stream(), [this](std::size_t slot) { enqueue(slot); }) {}

void LayerProgram::bind(std::size_t slot, std::span<const model::Tensor> operands, bool shared) {
  clock_.clear();
  DeviceProgram::bind(slot, operands, shared);
}

worker::Program::DeviceClock::Sample LayerProgram::sample(std::span<const std::size_t> slots) {
  return clock_.sample(slots);
}

worker::Program::DeviceClock::Sample LayerProgram::sample_cold(std::size_t slot,
                                                               Bytes swept,
                                                               std::optional<std::size_t> warm) {
  return clock_.sample_once(slot, [&] {
    sweep_(swept, stream());
    if (warm) {
      enqueue(*warm);
    }
  });
}

/// Throws Unsupported for extents so large that later sums and products of them could overflow.
void check_numbers(const model::LayerSpec& spec) {
  static constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const auto check = [](const model::TensorType& type) {
    static_cast<void>(element_count(type));
    for (const std::int64_t extent : type.dims) {
      if (extent > kMost) {
        throw Unsupported(fmt::format("the extent {} is above {}", extent, kMost));
      }
    }
  };
  for (const auto& operand : spec.inputs) {
    check(operand.value_or(model::TensorType{}));
  }
  for (const model::TensorType& result : spec.outputs) {
    check(result);
  }
}

VariantBuilder builtin_builder(const model::LayerSpec& spec,
                               const std::string& name,
                               TensorLayout layout,
                               BuiltinLayer layer,
                               KernelLibrary& kernels) {
  VariantBuilder builder;
  builder.text = fmt::format("impl=plumb:{};layout={}", name, to_text(layout));
  builder.attributes = builtin_kernel_attributes();
  builder.inputs = layer.inputs;
  builder.outputs = layer.outputs;
  builder.build = [spec, name, layer = std::move(layer), &kernels] {
    ExecutionPlan plan = builtin_plan(spec, layer, kernel_step(kernels));
    plan.implementation = fmt::format("plumb:{}", name);
    return plan;
  };
  return builder;
}

/// Lists the built-in kernels for a layer, in each layout that it can have, and for an update of
/// several tensors those for one tensor after the other.
std::vector<VariantBuilder> builtin_variants(const model::LayerSpec& spec, KernelLibrary& kernels) {
  std::vector<VariantBuilder> builders;
  std::string refusal;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    const bool has_channels =
        spec.outputs.at(0).dims.size() >= 3 && has_builtin_kernel(spec.op, layout);
    if (layout == TensorLayout::kChannelsLast && !has_channels) {
      continue;
    }
    try {
      builders.push_back(
          builtin_builder(spec, spec.op, layout, builtin_layer(spec, layout), kernels));
    } catch (const Unsupported& reason) {
      refusal = refusal.empty() ? reason.what() : refusal;
    }
  }
  if (builders.empty()) {
    throw Unsupported(fmt::format("{}: {}", spec.op, refusal));
  }
  if (model::is_update(spec) && model::UpdateShape(spec).tensors() > 1) {
    builders.push_back(builtin_builder(spec,
                                       spec.op + "_by_tensor",
                                       TensorLayout::kChannelsFirst,
                                       update_by_tensor(spec),
                                       kernels));
  }
  kernels.require_compiler();
  return builders;
}

bool is_product(const model::LayerSpec& spec) {
  return spec.op == "gemm" || spec.op == "matmul" || spec.op == "matmul_integer" ||
         spec.op == "gemm_bias_gradient";
}

std::vector<VariantBuilder> collect_products(const model::LayerSpec& spec,
                                             const CudaBackend::Sources& sources) {
  if (sources.products == nullptr) {
    throw Unsupported(sources.no_products);
  }
  check_capability(spec, sources.kernels.architecture());
  const KernelStep kernel = kernel_step(sources.kernels);
  const auto list = [&](const model::LayerSpec& product) {
    return gemm_variants(product, *sources.products, kernel);
  };
  return model::is_integer_product(spec) ? integer_variants(spec, list, kernel) : list(spec);
}

std::vector<VariantBuilder> collect_plain_products(const model::LayerSpec& spec,
                                                   const CudaBackend::Sources& sources) {
  const KernelStep kernel = kernel_step(sources.kernels);
  const auto list = [&](const model::LayerSpec& product) {
    return blas_variants(product, *sources.products, kernel);
  };
  return model::is_integer_product(spec) ? integer_variants(spec, list, kernel) : list(spec);
}

/// Lists the variants of the library that is made for a layer. Empty: there is no such library.
std::vector<VariantBuilder> library_offers(const model::LayerSpec& spec,
                                           const CudaBackend::Sources& sources) {
  if (spec.op == "conv" || spec.op == "conv_transpose" || model::is_convolution_gradient(spec)) {
    return convolution_variants(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  if (spec.op == "conv_integer") {
    return integer_convolution_offers(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  if (is_product(spec)) {
    return collect_products(spec, sources);
  }
  if (model::is_recurrent(spec)) {
    return recurrent_variants(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  if (spec.op == "attention") {
    return attention_variants(spec, sources.cudnn);
  }
  if (spec.op == "attention_backward") {
    return attention_gradient_offers(spec, sources.cudnn);
  }
  if (spec.op == "layer_norm" || spec.op == "layer_norm_backward" ||
      spec.op == "batch_norm_backward") {
    return norm_variants(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  return {};
}

}  // namespace

KernelStep kernel_step(KernelLibrary& kernels) {
  return [&kernels](const KernelLaunch& launch, const std::vector<std::size_t>& buffers) {
    return kernels.step(launch, buffers);
  };
}

std::vector<VariantBuilder> layer_variants(const model::LayerSpec& spec,
                                           const CudaBackend::Sources& sources) {
  check_numbers(spec);
  std::vector<VariantBuilder> builders;
  std::string refusal;
  const auto add = [&](auto list) {
    try {
      std::vector<VariantBuilder> more = list();
      std::move(more.begin(), more.end(), std::back_inserter(builders));
    } catch (const Unsupported& reason) {
      refusal = refusal.empty() ? reason.what() : refusal;
    }
  };
  add([&] { return library_offers(spec, sources); });
  if (has_builtin_kernel(spec.op, TensorLayout::kChannelsFirst)) {
    add([&] { return builtin_variants(spec, sources.kernels); });
  }
  if (is_product(spec) && sources.products != nullptr && sources.products->has_older_calls()) {
    add([&] { return collect_plain_products(spec, sources); });
  }
  add([&] { return legacy_variants(spec, sources.cudnn, kernel_step(sources.kernels)); });
  if (builders.empty()) {
    throw Unsupported(
        refusal.empty()
            ? fmt::format("neither cuDNN, nor cuBLASLt, nor a built-in kernel computes '{}'",
                          spec.op)
            : refusal);
  }
  return builders;
}

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
                         DeviceProgram::Observers observers,
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
  } catch (const CublasLibrary::Refusal& refusal) {
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
  } catch (const CudnnLibrary::Refusal& refusal) {
    return {results::Outcome::Kind::kUnsupported, fmt::format("cuDNN: {}", refusal.what())};
  } catch (const CublasLibrary::Refusal& refusal) {
    return {results::Outcome::Kind::kUnsupported, refusal.what()};
  } catch (const Driver::Refusal& refusal) {
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

CudaBackend::Sources CudaBackend::sources() const {
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

worker::Backend::Prepared CudaBackend::prepare(const model::LayerKey& key,
                                               const std::string& variant) {
  worker::Backend::Prepared prepared;
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

worker::Backend::PreparedModel CudaBackend::prepare_model(
    const model::Graph& graph, const worker::Backend::ModelOptions& options) {
  worker::Backend::PreparedModel prepared;
  prepared.outcome = outcome_of([&] {
    const ModelProgram::Source source{
        [this](const model::LayerSpec& spec) { return layer_variants(spec, sources()); },
        kernel_step(kernels_)};
    const worker::Backend::LaunchMode launches =
        options.parallel_branches
            ? worker::Backend::LaunchMode::kStreams
            : options.launches.value_or(worker::Backend::LaunchMode::kCaptured);
    const bool side_by_side = launches == worker::Backend::LaunchMode::kStreams;
    ModelPlan model = plan_model(graph, options.variants, source, side_by_side);
    ModelProgram::StreamPlan branches;
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
    swept_ = Device::Memory(context_.driver(), size);
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
  const Device::Memory from(driver, size);
  const Device::Memory to(driver, size);
  DeviceStream::Event begin(driver, true);
  DeviceStream::Event end(driver, true);
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
