// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/worker/protocol/backend.hpp"

namespace plumb::cuda {

/// Executes whole models by the CUDA backend's plans in the host's memory: our kernels by its
/// compiler, the libraries' layers by the reference. Layers alone are not prepared.
class HostBackend final : public worker::Backend {
 public:
  [[nodiscard]] results::Environment describe() const override {
    return {{{"backend", "host"}}, {}};
  }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override;
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override;
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string& variant) override;
  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override;
};

}  // namespace plumb::cuda
