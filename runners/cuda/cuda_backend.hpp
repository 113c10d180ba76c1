// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/worker/backend.hpp"
#include "runners/cuda/cublas_library.hpp"
#include "runners/cuda/cudnn_handle.hpp"
#include "runners/cuda/device_context.hpp"
#include "runners/cuda/device_memory.hpp"
#include "runners/cuda/device_offer.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/device_stream.hpp"
#include "runners/cuda/kernel_library.hpp"
#include "runners/cuda/layer_offers.hpp"
#include "runners/cuda/model_mode.hpp"

namespace plumb::cuda {

/// Executes layers and models on one GPU: convolutions by cuDNN, products by cuBLASLt, all else by
/// kernels of our own. Takes the GPU for itself while it lives.
class CudaBackend final : public Backend {
 public:
  /// Throws DriverRefusal or CudnnRefusal if the GPU or a library does not start. All must outlive
  /// it. `observers` look at layers beside their times.
  CudaBackend(const CudnnLibrary& library,
              const Device& device,
              ModelMode mode,
              Observers observers = {});

  [[nodiscard]] const DeviceContext& context() const { return context_; }

  [[nodiscard]] Environment describe() const override;
  [[nodiscard]] Outcome supports(const LayerKey& key) const override;
  [[nodiscard]] std::vector<Variant> variants(const LayerKey& key) const override;
  [[nodiscard]] Prepared prepare(const LayerKey& key, const std::string& variant) override;
  /// With `parallel_branches` as with ModelMode::kStreams, and refused if there are none.
  [[nodiscard]] PreparedModel prepare_model(const Graph& graph,
                                            const ModelOptions& options) override;

  /// Writes over so many bytes of the GPU's memory, so that its caches hold nothing else, and
  /// waits.
  void sweep(Bytes bytes);

  /// Returns the best rate, read and written, of copying an array of `bytes` on the GPU.
  [[nodiscard]] BytesPerSecond copy_rate(Bytes bytes);

 private:
  [[nodiscard]] OfferSources sources() const;
  [[nodiscard]] const std::vector<DeviceOffer>& offers(const LayerKey& key) const;
  [[nodiscard]] Outcome outcome_of(const std::function<void()>& attempt) const;

  const CudnnLibrary& library_;
  DeviceContext context_;
  ModelMode mode_;
  Observers observers_;
  std::optional<CublasLibrary> cublas_;
  mutable CudnnHandle cudnn_;
  std::optional<CublasHandle> products_;
  std::string no_products_;  ///< why there is no cuBLASLt
  std::optional<BlasLibrary> blas_;
  std::optional<BlasHandle> plain_products_;
  mutable KernelLibrary kernels_;
  DeviceStream stream_;
  DeviceMemory swept_;
  mutable std::optional<LayerKey> listed_;  // the key that `offers_` is of
  mutable std::vector<DeviceOffer> offers_;
  mutable Seconds listing_{};  // what making that list took
};

}  // namespace plumb::cuda
