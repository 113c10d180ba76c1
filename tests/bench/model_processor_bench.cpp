// SPDX-License-Identifier: Apache-2.0
//
// Times the model processor on DenseNet-121 (910 layers, weight-free): read from disk, infer, fold,
// key.
#include <benchmark/benchmark.h>
#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "harness/model/onnx_reader.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb {
namespace {

onnx::ModelProto densenet() {
  const zoo::Entry* entry = zoo::find("densenet121");
  if (entry == nullptr) {
    std::cerr << "the zoo has no densenet121\n";
    std::exit(1);
  }
  return entry->build(1);
}

void count(benchmark::State& state, const Graph& graph) {
  state.counters["layers"] = static_cast<double>(graph.layers.size());
  state.counters["unique"] = static_cast<double>(totals(graph).unique_layers);
}

void read_from_disk(benchmark::State& state) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "plumb_model_processor_bench.onnx";
  {
    std::ofstream file(path, std::ios::binary);
    densenet().SerializeToOstream(&file);
  }
  Graph graph;
  for (auto _ : state) {
    graph = read_model(path);
    benchmark::DoNotOptimize(graph);
  }
  count(state, graph);
  std::filesystem::remove(path);
}
BENCHMARK(read_from_disk)->Unit(benchmark::kMillisecond);

void build_from_memory(benchmark::State& state) {
  const onnx::ModelProto model = densenet();
  Graph graph;
  for (auto _ : state) {
    graph = graph_of(model);
    benchmark::DoNotOptimize(graph);
  }
  count(state, graph);
}
BENCHMARK(build_from_memory)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumb

BENCHMARK_MAIN();
