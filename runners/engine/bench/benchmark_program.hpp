// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "runners/engine/bench/layer_timing.hpp"

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
  /// Arguments of a worker that somebody starts by hand to benchmark layers, without those of
  /// Google Benchmark.
  struct Arguments {
    worker::WorkerService::Setup setup;
    std::vector<std::string> layers;  ///< keys, files with a key on each line, or "-"
  };

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
  struct WarmProgram;

  void run(benchmark::State& state, const model::LayerKey& key, const worker::Variant& variant);
  /// Returns the variant's program, verified and warm, or why there is none.
  WarmProgram& prepare(const model::LayerKey& key, const worker::Variant& variant);

  worker::Backend& backend_;
  measure::Clock clock_;
  LayerTiming::Overhead overhead_;
  std::unique_ptr<WarmProgram> prepared_;  ///< the last program; null before the first
};

/// Option that starts run_benchmark_program(), and the lines of a worker's help on it.
inline constexpr const char* kLayersOption = "--layers";
inline constexpr const char* kBenchmarkUsage =
    "  --layers FILE|KEY…      run layers as benchmarks of Google Benchmark. KEY is a layer key, "
    "and "
    "FILE has\n"
    "                          one on each line ('-' is standard input). With it:\n"
    "    --benchmark_filter=REGEX, --benchmark_repetitions=N, --benchmark_format=json …\n"
    "                          the options of Google Benchmark; names are KEY/VARIANT\n"
    "    --library FILE        a library to load instead of the default stack's, in order\n"
    "    --threads N           threads of the library; 1 unless given\n";

/// Reads the arguments after the program's name. Throws Error{kUser} that names a wrong one.
[[nodiscard]] LayerBenchmarks::Arguments parse_benchmark_arguments(
    std::span<const std::string> arguments);

/// Reads keys: each text is a key, or a file with a key on each line. Empty lines and those that
/// begin with '#' are left out, and a key counts once. Throws Error{kUser} that names the line.
[[nodiscard]] std::vector<model::LayerKey> read_layer_keys(std::span<const std::string> texts);

/// Factory of the backend for a setup. The backend outlives the program.
using OpenBackend = std::function<worker::Backend&(const worker::WorkerService::Setup&)>;

/// Runs layers as benchmarks and reports them on standard output, as Google Benchmark's options
/// say. The backend's identity is part of the context. Returns the exit status. Throws Error{kUser}
/// for wrong arguments and for a filter that leaves nothing.
int run_benchmark_program(const OpenBackend& open, std::span<const char* const> arguments);

}  // namespace plumb::engine
