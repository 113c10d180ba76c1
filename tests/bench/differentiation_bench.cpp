// SPDX-License-Identifier: Apache-2.0
//
// Times how long it takes to make steps of training of the thirty models of suites/vision30.toml
// together: loss, gradients and updates of graphs that are read already. Limit: 1 s. Prints it;
// exits 1 if it is missed.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/suite/suite.hpp"
#include "suites/zoo/zoo.hpp"

int main() {
  using namespace plumb;
  constexpr double kMaxSeconds = 1.0;
  const std::filesystem::path file = std::filesystem::path(PLUMB_SUITES) / "vision30.toml";
  const suite::ResolvedSuite suite = suite::resolve(suite::read_suite(file));
  std::vector<model::Graph> graphs;
  for (const suite::ResolvedSuite::Model& model : suite.models) {
    graphs.push_back(model::read_graph(zoo::find(model.name)->build(1)));
  }
  std::vector<double> times;
  std::size_t layers = 0;
  for (int repetition = 0; repetition < 7; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    layers = 0;
    for (const model::Graph& graph : graphs) {
      layers += rewrite::training_step(graph, {}, {}).training.graph.layers.size();
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    times.push_back(elapsed.count());
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  fmt::print(
      "differentiation: {} models to steps of {} layers in {:.3f} s (limit {:.1f}; n = {}, {:.3f} "
      "to {:.3f})\n",
      graphs.size(),
      layers,
      median,
      kMaxSeconds,
      times.size(),
      times.front(),
      times.back());
  return median <= kMaxSeconds ? 0 : 1;
}
