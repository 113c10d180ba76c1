// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/blas/cublas_library.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_memory.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/exec/kernel_library.hpp"
#include "runners/cuda/layer_variants.hpp"

namespace plumb::cuda {

/// Backend that executes layers and models on one GPU. cuDNN and cuBLASLt execute what they have
/// calls for, built-in kernels the rest. It reserves the GPU while it lives.
class CudaBackend final : public worker::Backend {
 public:
  /// Throws DriverRefusal or CudnnRefusal if the GPU or a library does not start. Throws as
  /// DeviceContext does if the GPU is taken. All must outlive the backend. `observers` collect more
  /// about layers than their times. Workers of `harness` that take turns share the GPU.
  CudaBackend(const CudnnLibrary& library,
              const Device& device,
              Observers observers = {},
              std::optional<int> harness = {});

  [[nodiscard]] const DeviceContext& context() const { return context_; }

  [[nodiscard]] results::Environment describe() const override;
  [[nodiscard]] std::optional<Bytes> free_memory() const override { return context_.free_memory(); }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override;
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override;
  [[nodiscard]] worker::Prepared prepare(const model::LayerKey& key,
                                         const std::string& variant) override;
  /// Prepares a model in the way that the options name, or else as a captured graph. That uses
  /// streams with `parallel_branches`, and a model that has no branches is then unsupported.
  [[nodiscard]] worker::PreparedModel prepare_model(const model::Graph& graph,
                                                    const worker::ModelOptions& options) override;

  /// Overwrites `bytes` of the GPU's memory, so that its caches hold nothing else, and waits.
  void sweep(Bytes bytes);

  /// Returns the best rate of several copies on the GPU, of an array of `most` bytes or of what a
  /// quarter of the free memory holds. Bytes that are read and bytes that are written both count.
  /// Zero: unknown, because so little memory is free that the caches hold the arrays.
  [[nodiscard]] BytesPerSecond copy_rate(Bytes most);

 private:
  [[nodiscard]] BuilderSources sources() const;
  [[nodiscard]] const std::vector<VariantBuilder>& builders(const model::LayerKey& key) const;
  [[nodiscard]] results::Outcome outcome_of(const std::function<void()>& attempt) const;
  void enqueue_sweep(Bytes bytes, const DeviceStream& stream);

  const CudnnLibrary& library_;
  DeviceContext context_;
  Observers observers_;
  std::optional<CublasLibrary> cublas_;
  mutable CudnnHandle cudnn_;
  std::optional<CublasHandle> products_;
  std::string no_products_;  ///< why there is no cuBLASLt
  mutable KernelLibrary kernels_;
  DeviceStream stream_;
  DeviceMemory swept_;                             // any stream may still write to it
  mutable std::optional<model::LayerKey> listed_;  // the key that `builders_` is of
  mutable std::vector<VariantBuilder> builders_;
  mutable Seconds listing_{};  // time that the list took
};

}  // namespace plumb::cuda
