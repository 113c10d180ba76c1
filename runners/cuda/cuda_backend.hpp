// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/exec/kernel_library.hpp"

namespace plumb::cuda {

/// Returns the function that makes the steps of built-in kernels. `kernels` must outlive it.
[[nodiscard]] KernelStep kernel_step(KernelLibrary& kernels);

/// Backend that executes layers and models on one GPU. cuDNN and cuBLASLt execute what they have
/// calls for, built-in kernels the rest. It reserves the GPU while it lives.
class CudaBackend final : public worker::Backend {
 public:
  /// Libraries and kernels that execute layers. All must outlive the variant builders.
  struct Sources {
    CudnnLibrary::Handle& cudnn;
    const CublasLibrary::Handle* products = nullptr;  ///< null: there is no cuBLASLt
    std::string no_products;                          ///< why not
    KernelLibrary& kernels;
  };

  /// Throws Driver::Refusal or CudnnLibrary::Refusal if the GPU or a library does not start. Throws
  /// as Device::Context does if the GPU is taken. All must outlive the backend. `observers` collect
  /// more about layers than their times. Workers of `harness` that take turns share the GPU.
  CudaBackend(const CudnnLibrary& library,
              const Device& device,
              DeviceProgram::Observers observers = {},
              std::optional<int> harness = {});

  [[nodiscard]] const Device::Context& context() const { return context_; }

  [[nodiscard]] results::Environment describe() const override;
  [[nodiscard]] std::optional<Bytes> free_memory() const override { return context_.free_memory(); }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override;
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override;
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string& variant) override;
  /// Prepares a model in the way that the options name, or else as a captured graph. That uses
  /// streams with `parallel_branches`, and a model that has no branches is then unsupported.
  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override;

  /// Overwrites `bytes` of the GPU's memory, so that its caches hold nothing else, and waits.
  void sweep(Bytes bytes);

  /// Returns the best rate of several copies on the GPU, of an array of `most` bytes or of what a
  /// quarter of the free memory holds. Bytes that are read and bytes that are written both count.
  /// Zero: unknown, because so little memory is free that the caches hold the arrays.
  [[nodiscard]] BytesPerSecond copy_rate(Bytes most);

 private:
  [[nodiscard]] Sources sources() const;
  [[nodiscard]] const std::vector<VariantBuilder>& builders(const model::LayerKey& key) const;
  [[nodiscard]] results::Outcome outcome_of(const std::function<void()>& attempt) const;
  void enqueue_sweep(Bytes bytes, const DeviceStream& stream);

  const CudnnLibrary& library_;
  Device::Context context_;
  DeviceProgram::Observers observers_;
  std::optional<CublasLibrary> cublas_;
  mutable CudnnLibrary::Handle cudnn_;
  std::optional<CublasLibrary::Handle> products_;
  std::string no_products_;  ///< why there is no cuBLASLt
  mutable KernelLibrary kernels_;
  DeviceStream stream_;
  Device::Memory swept_;                           // any stream may still write to it
  mutable std::optional<model::LayerKey> listed_;  // the key that `builders_` is of
  mutable std::vector<VariantBuilder> builders_;
  mutable Seconds listing_{};  // time that the list took
};

/// Lists the variants of a layer, the first choice first. The variants of the library made for the
/// layer stand first, then built-in kernels, then the older calls of cuBLAS and cuDNN. Throws
/// Unsupported with the reason if there is none.
[[nodiscard]] std::vector<VariantBuilder> layer_variants(const model::LayerSpec& spec,
                                                         const CudaBackend::Sources& sources);

}  // namespace plumb::cuda
