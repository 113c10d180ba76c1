// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::engine {

/// Backend whose layers or models take longer, for tests of whether a slow-down is found.
///
/// Each execution of a chosen key is followed by a busy wait for a share of its time. The
/// environment's identity records it ("library.slow_layers"), so that such a measurement cannot
/// pass for a result. Keeps a reference to the backend.
class SlowedBackend final : public worker::Backend {
 public:
  /// Parses `slowing`, which is "KEYS=PERCENT" with a PERCENT of 0 to 1000. Keys that begin with
  /// KEYS are PERCENT slower. With "model:=PERCENT", whole models are slower and layers are not.
  /// Throws Error{kUser} for anything else.
  SlowedBackend(worker::Backend& backend,
                std::string_view slowing,
                measure::Clock clock = measure::steady_clock());

  [[nodiscard]] results::Environment describe() const override;
  [[nodiscard]] std::optional<Bytes> free_memory() const override { return backend_.free_memory(); }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override {
    return backend_.supports(key);
  }
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override {
    return backend_.variants(key);
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string& variant) override;
  void partition_threads(std::size_t lanes) override { backend_.partition_threads(lanes); }
  void enter_lane(std::size_t lane) override { backend_.enter_lane(lane); }
  [[nodiscard]] bool plans_models() const override { return backend_.plans_models(); }
  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override;
  [[nodiscard]] worker::Reproducer reproduce(const worker::Reproducer::Request& request) override {
    return backend_.reproduce(request);
  }

 private:
  worker::Backend& backend_;
  std::string slowing_;
  std::string keys_;
  double share_ = 0.0;
  measure::Clock clock_;
};

}  // namespace plumb::engine
