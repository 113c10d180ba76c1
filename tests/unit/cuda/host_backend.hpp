// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/worker/protocol/backend.hpp"

namespace plumb::cuda {

/// Executes whole models by the CUDA backend's plans in the host's memory: our kernels by its
/// compiler, the libraries' layers by the reference. Layers alone are not prepared.
class HostBackend final : public Backend {
 public:
  [[nodiscard]] Environment describe() const override { return {{{"backend", "host"}}, {}}; }
  [[nodiscard]] Outcome supports(const LayerKey& key) const override;
  [[nodiscard]] std::vector<Variant> variants(const LayerKey& key) const override;
  [[nodiscard]] Prepared prepare(const LayerKey& key, const std::string& variant) override;
  [[nodiscard]] PreparedModel prepare_model(const Graph& graph,
                                            const ModelOptions& options) override;
};

}  // namespace plumb::cuda
