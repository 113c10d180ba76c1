// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/host_backend.hpp"

#include <utility>

#include "runners/cuda/exec/execution_plan.hpp"
#include "tests/unit/cuda/host_plan.hpp"

namespace plumb::cuda {
namespace {

class HostProgram final : public worker::Program {
 public:
  HostProgram(std::unique_ptr<HostKernels> kernels,
              ExecutionPlan plan,
              std::vector<model::TensorType> outputs)
      : kernels_(std::move(kernels)), plan_(std::move(plan)), types_(std::move(outputs)) {}

  [[nodiscard]] worker::Program::Facts facts() const override {
    worker::Program::Facts facts;
    facts.implementation = plan_.implementation;
    return facts;
  }
  void bind(std::size_t /*slot*/,
            std::span<const model::Tensor> operands,
            bool /*shared*/) override {
    operands_.assign(operands.begin(), operands.end());
    kernels_->compile();
  }
  void enqueue(std::size_t /*slot*/) override {
    outputs_ = run_plan(
        plan_, types_, [this](std::size_t i) -> const model::Tensor& { return operands_.at(i); });
  }
  void synchronize() override {}
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t /*slot*/) override {
    return outputs_;
  }

 private:
  std::unique_ptr<HostKernels> kernels_;
  ExecutionPlan plan_;
  std::vector<model::TensorType> types_;
  std::vector<model::Tensor> operands_;
  std::vector<model::Tensor> outputs_;
};

results::Outcome unsupported(const Unsupported& reason) {
  return {results::Outcome::Kind::kUnsupported, reason.what()};
}

}  // namespace

results::Outcome HostBackend::supports(const model::LayerKey& key) const {
  try {
    HostKernels kernels;
    static_cast<void>(host_builders(model::parse_key(key), kernels));
    return {};
  } catch (const Unsupported& reason) {
    return unsupported(reason);
  }
}

std::vector<worker::Variant> HostBackend::variants(const model::LayerKey& key) const {
  std::vector<worker::Variant> variants;
  try {
    HostKernels kernels;
    for (const VariantBuilder& builder : host_builders(model::parse_key(key), kernels)) {
      variants.push_back({builder.text,
                          variants.empty(),
                          false,
                          builder.outputs.front() == TensorLayout::kChannelsLast,
                          {}});
    }
  } catch (const Unsupported&) {
    variants.clear();
  }
  return variants;
}

worker::Backend::Prepared HostBackend::prepare(const model::LayerKey& /*key*/,
                                               const std::string& /*variant*/) {
  return {nullptr, {results::Outcome::Kind::kUnsupported, "whole models only"}};
}

worker::Backend::PreparedModel HostBackend::prepare_model(
    const model::Graph& graph, const worker::Backend::ModelOptions& options) {
  worker::Backend::PreparedModel prepared;
  try {
    auto kernels = std::make_unique<HostKernels>();
    const ModelProgram::Source source{
        [&](const model::LayerSpec& spec) { return host_builders(spec, *kernels); },
        kernels->steps()};
    ModelPlan model = plan_model(graph, options.variants, source, false);
    std::vector<model::TensorType> outputs;
    for (const model::ValueId output : graph.outputs) {
      outputs.push_back(graph.values[output].type);
    }
    prepared.operands = std::move(model.operands);
    prepared.reorders = model.reorders;
    prepared.variants = std::move(model.variants);
    prepared.program =
        std::make_unique<HostProgram>(std::move(kernels), std::move(model.plan), outputs);
  } catch (const Unsupported& reason) {
    prepared.outcome = unsupported(reason);
  }
  return prepared;
}

}  // namespace plumb::cuda
