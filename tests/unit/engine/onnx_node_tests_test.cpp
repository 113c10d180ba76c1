// SPDX-License-Identifier: Apache-2.0
#include "tests/support/onnx_node_tests.hpp"

#include <iostream>

#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::engine {
namespace {

TEST(OnnxNodeTests, agree_with_the_reference) {
  const std::filesystem::path folder = test_support::node_test_folder();
  if (folder.empty()) {
    GTEST_SKIP() << "ONNX's operator tests are not here: install libonnx-testdata, or name their "
                    "folder in PLUMB_ONNX_NODE_TESTS";
  }
  const test_support::NodeTestTally tally =
      test_support::run_node_tests(folder,
                                   {[](const model::LayerSpec& spec,
                                       const std::vector<model::Tensor>& operands,
                                       std::vector<model::Tensor>& outputs) {
                                      const results::Outcome support = reference_support(spec);
                                      if (support.ok()) {
                                        outputs = reference_outputs(spec, operands);
                                      }
                                      return support;
                                    },
                                    [](const model::Graph& graph,
                                       std::map<model::ValueId, model::Tensor>& values,
                                       std::vector<model::Tensor>& outputs) {
                                      return reference_model_outputs(graph, values, outputs);
                                    }});
  std::cout << test_support::to_text(tally);
  EXPECT_TRUE(tally.failed.empty());
  // Of the 932 of Debian 12's libonnx-testdata 1.12: guards against a reader that suddenly refuses
  // most.
  EXPECT_GT(tally.passed.size(), 450U);
}

}  // namespace
}  // namespace plumb::engine
