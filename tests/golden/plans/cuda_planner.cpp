// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "runners/cuda/cuda_backend.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/model_program.hpp"
#include "tests/golden/plans/model_planner.hpp"
#include "tests/golden/plans/plan_lines.hpp"

namespace plumb::golden {
namespace {

/// Layers as the CUDA backend executes them, listed and built but never run.
class LayerBackend final : public worker::Backend {
 public:
  [[nodiscard]] results::Environment describe() const override { return {}; }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override {
    try {
      static_cast<void>(builders(model::parse_key(key)));
      return {};
    } catch (const cuda::Unsupported& reason) {
      return {results::Outcome::Kind::kUnsupported, reason.what()};
    }
  }
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override {
    std::vector<worker::Variant> variants;
    try {
      for (const cuda::VariantBuilder& builder : builders(model::parse_key(key))) {
        const bool channels_last = !builder.outputs.empty() &&
                                   builder.outputs.front() == cuda::TensorLayout::kChannelsLast;
        variants.push_back({builder.text, variants.empty(), false, channels_last});
      }
    } catch (const cuda::Unsupported&) {
      variants.clear();
    }
    return variants;
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& /*key*/,
                                                  const std::string& /*variant*/) override {
    return {nullptr, {results::Outcome::Kind::kUnsupported, "whole models only"}};
  }

  [[nodiscard]] std::vector<cuda::VariantBuilder> builders(const model::LayerSpec& spec) const {
    return cuda::layer_variants(spec, {cudnn_, &products_, "", kernels_});
  }
  [[nodiscard]] cuda::ModelProgram::Source source() const {
    return {[this](const model::LayerSpec& spec) { return builders(spec); },
            cuda::kernel_step(kernels_)};
  }

 private:
  cuda::Driver driver_;
  cuda::Device device_{driver_};
  cuda::CudnnLibrary library_{{"libcudnn.so.9"}};
  cuda::Device::Context context_{device_};
  mutable cuda::CudnnLibrary::Handle cudnn_{library_};
  cuda::CublasLibrary cublas_;
  cuda::CublasLibrary::Handle products_{cublas_};
  mutable cuda::KernelLibrary kernels_{context_};
};

class CudaPlanner final : public ModelPlanner {
 public:
  [[nodiscard]] std::string environment() const override { return "the test doubles"; }
  [[nodiscard]] std::vector<std::string> modes() const override {
    return {"plain",
            "fusion",
            "last_variant",
            "channels_last",
            "bf16",
            "f16",
            "f16+fusion",
            "channels_last+f16",
            "tf32",
            "int8",
            "fusion+int8",
            "streams",
            "fusion+streams",
            "training"};
  }
  [[nodiscard]] const worker::Backend& backend() const override { return backend_; }

  [[nodiscard]] PlanText plan(const model::Graph& graph,
                              const worker::LayerVariants& variants,
                              bool side_by_side) override {
    try {
      const cuda::ModelPlan model =
          cuda::plan_model(graph, variants, backend_.source(), side_by_side);
      const cuda::ExecutionPlan& plan = model.plan;
      BackendLines lines{[&](std::size_t buffer) {
                           const cuda::DeviceBuffer& held = plan.buffers[buffer];
                           return fmt::format("{} [{}] {}",
                                              model::to_text(held.type.dtype),
                                              fmt::join(held.type.dims, ","),
                                              cuda::to_text(held.layout));
                         },
                         [](std::size_t) { return std::string("launch"); },
                         {}};
      for (const cuda::DeviceStep& step : plan.once) {
        lines.rest.push_back(fmt::format("once: reads {}, writes {}",
                                         fmt::join(step.buffers.reads, " "),
                                         fmt::join(step.buffers.writes, " ")));
      }
      return plan_text(graph, model, model.uses, plan.workspace_bytes, lines);
    } catch (const cuda::Unsupported& reason) {
      return {fmt::format("unsupported: {}", reason.what()), ""};
    }
  }

 private:
  LayerBackend backend_;
};

}  // namespace

std::unique_ptr<ModelPlanner> make_cuda_planner() {
  setenv("PLUMB_STAND_IN_KERNELS", "none", 1);
  return std::make_unique<CudaPlanner>();
}

}  // namespace plumb::golden
