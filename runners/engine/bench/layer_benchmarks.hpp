// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_key.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/bench/harness_overhead.hpp"

namespace benchmark {
class State;
}

namespace plumb::engine {

/// Layers as benchmarks of Google Benchmark.
///
/// The library filters, repeats and reports them. Verification, warm-up, the length of a sample and
/// the clock are those of `plumb layer`, with warm buffers. One program is kept at a time. Not
/// thread-safe, because the library has one registry for the process.
class LayerBenchmarks {
 public:
  /// Keeps a reference to the backend. Registered benchmarks refer to this object.
  explicit LayerBenchmarks(worker::Backend& backend,
                           measure::Clock clock = measure::steady_clock());
  ~LayerBenchmarks();
  LayerBenchmarks(const LayerBenchmarks&) = delete;
  LayerBenchmarks& operator=(const LayerBenchmarks&) = delete;
  LayerBenchmarks(LayerBenchmarks&&) = delete;
  LayerBenchmarks& operator=(LayerBenchmarks&&) = delete;

  /// Registers a benchmark "KEY/VARIANT" for each variant of a key. Reference implementations are
  /// left out where there is anything else. A key that the backend does not support becomes one
  /// benchmark "KEY", which ends with the reason. Throws Error{kUser} for a key that is none.
  void add(const model::LayerKey& key);

 private:
  struct Prepared;

  void run(benchmark::State& state, const model::LayerKey& key, const worker::Variant& variant);
  /// Returns the variant's program, verified and warm, or why there is none.
  Prepared& prepare(const model::LayerKey& key, const worker::Variant& variant);

  worker::Backend& backend_;
  measure::Clock clock_;
  HarnessOverhead overhead_;
  std::unique_ptr<Prepared> prepared_;  ///< the last program; null before the first
};

}  // namespace plumb::engine
