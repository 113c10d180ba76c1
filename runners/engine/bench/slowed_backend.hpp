// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb {

/// Backend whose layers or models take longer, for tests of whether a slow-down is found.
///
/// Each execution of a chosen key is followed by a busy wait for a share of its time. The
/// environment's identity records it ("library.slow_layers"), so that such a measurement cannot
/// pass for a result. Keeps a reference to the backend.
class SlowedBackend final : public Backend {
 public:
  /// Parses `slowing`, which is "KEYS=PERCENT" with a PERCENT of 0 to 1000. Keys that begin with
  /// KEYS are PERCENT slower. With "model:=PERCENT", whole models are slower and layers are not.
  /// Throws Error{kUser} for anything else.
  SlowedBackend(Backend& backend, std::string_view slowing, Clock clock = steady_clock());

  [[nodiscard]] Environment describe() const override;
  [[nodiscard]] std::optional<Bytes> free_memory() const override { return backend_.free_memory(); }
  [[nodiscard]] Outcome supports(const LayerKey& key) const override {
    return backend_.supports(key);
  }
  [[nodiscard]] std::vector<Variant> variants(const LayerKey& key) const override {
    return backend_.variants(key);
  }
  [[nodiscard]] Prepared prepare(const LayerKey& key, const std::string& variant) override;
  void partition_threads(std::size_t lanes) override { backend_.partition_threads(lanes); }
  void enter_lane(std::size_t lane) override { backend_.enter_lane(lane); }
  [[nodiscard]] PreparedModel prepare_model(const Graph& graph,
                                            const ModelOptions& options) override;
  [[nodiscard]] Reproducer reproduce(const ReproducerRequest& request) override {
    return backend_.reproduce(request);
  }

 private:
  Backend& backend_;
  std::string slowing_;
  std::string keys_;
  double share_ = 0.0;
  Clock clock_;
};

}  // namespace plumb
