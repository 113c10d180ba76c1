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

namespace plumb {

/// Layers as benchmarks of Google Benchmark.
///
/// The library filters, repeats and reports them. Verification, warm-up, the length of a sample and
/// the clock are those of `plumb layer`, with warm buffers. One program is kept at a time. Not
/// thread-safe, because the library has one registry for the process.
class LayerBenchmarks {
 public:
  /// Keeps a reference to the backend. Registered benchmarks refer to this object.
  explicit LayerBenchmarks(Backend& backend, Clock clock = steady_clock());
  ~LayerBenchmarks();
  LayerBenchmarks(const LayerBenchmarks&) = delete;
  LayerBenchmarks& operator=(const LayerBenchmarks&) = delete;
  LayerBenchmarks(LayerBenchmarks&&) = delete;
  LayerBenchmarks& operator=(LayerBenchmarks&&) = delete;

  /// Registers a benchmark "KEY/VARIANT" for each variant of a key. Reference implementations are
  /// left out where there is anything else. A key that the backend does not support becomes one
  /// benchmark "KEY", which ends with the reason. Throws Error{kUser} for a key that is none.
  void add(const LayerKey& key);

 private:
  struct Prepared;

  void run(benchmark::State& state, const LayerKey& key, const Variant& variant);
  /// Returns the variant's program, verified and warm, or why there is none.
  Prepared& prepare(const LayerKey& key, const Variant& variant);

  Backend& backend_;
  Clock clock_;
  HarnessOverhead overhead_;
  std::unique_ptr<Prepared> prepared_;  ///< the last program; null before the first
};

}  // namespace plumb
