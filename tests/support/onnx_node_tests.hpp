// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::test_support {

/// Computes one layer; an outcome that is not ok means it was not computed.
using LayerExecutor = std::function<results::Outcome(const model::LayerSpec& spec,
                                                     const std::vector<model::Tensor>& operands,
                                                     std::vector<model::Tensor>& outputs)>;

/// Computes a model of several layers: `values` holds its inputs and constants; it may be changed.
using GraphExecutor =
    std::function<results::Outcome(const model::Graph& graph,
                                   std::map<model::ValueId, model::Tensor>& values,
                                   std::vector<model::Tensor>& outputs)>;

/// What computes the tests.
struct NodeTestExecutor {
  LayerExecutor layer;
  GraphExecutor graph;
  /// Tests that a library is known not to pass, with the reason: unsupported where they fail.
  std::map<std::string, std::string> limits = {};
};

/// Sums up a run over ONNX's own operator tests.
struct NodeTestTally {
  std::vector<std::string> passed;                              ///< names of tests
  std::map<std::string, std::vector<std::string>> unsupported;  ///< "operator: reason" → tests
  std::vector<std::string> failed;                              ///< "test: what differs"
};

/// Returns the folder of Debian's libonnx-testdata, or what PLUMB_ONNX_NODE_TESTS names; empty if
/// it is absent.
[[nodiscard]] std::filesystem::path node_test_folder();

/// Reads every test below `folder` (a model of one node, or of several: a function written out; its
/// inputs and expected outputs), executes it and compares the outputs with the expected ones,
/// relative to their largest value.
[[nodiscard]] NodeTestTally run_node_tests(const std::filesystem::path& folder,
                                           const NodeTestExecutor& executor);

/// Writes the tally for people: totals, then unsupported tests by operator, then failures.
[[nodiscard]] std::string to_text(const NodeTestTally& tally);

}  // namespace plumb::test_support
