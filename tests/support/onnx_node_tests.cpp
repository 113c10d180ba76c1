// SPDX-License-Identifier: Apache-2.0
#include "tests/support/onnx_node_tests.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "tests/support/onnx_test_files.hpp"

namespace plumb::test_support {
namespace {

namespace fs = std::filesystem;

/// Lists operands that configure an operator. The tests feed them as graph inputs; a layer has them
/// fixed.
struct ConfiguringInputs {
  std::string_view op;  ///< what the operator's name starts with
  std::vector<int> inputs;
};

const std::vector<ConfiguringInputs>& configuring_inputs() {
  static const std::vector<ConfiguringInputs> kTable{
      {"Reshape", {1}},
      {"Slice", {1, 2, 3, 4}},
      {"Pad", {1, 2, 3}},
      {"Clip", {1, 2}},
      {"Resize", {1, 2, 3}},
      {"Upsample", {1}},
      {"Squeeze", {1}},
      {"Unsqueeze", {1}},
      {"Expand", {1}},
      {"Tile", {1}},
      {"Split", {1}},
      {"Reduce", {1}},
      {"Dropout", {1, 2}},
      {"RNN", {4}},
      {"GRU", {4}},
      {"LSTM", {4}},
  };
  return kTable;
}

using NamedTensors = std::map<std::string, onnx::TensorProto>;

/// Makes an input a constant of the model.
void fix_input(onnx::GraphProto& graph, const onnx::TensorProto& value) {
  *graph.add_initializer() = value;
  for (int i = 0; i < graph.input_size(); ++i) {
    if (graph.input(i).name() == value.name()) {
      graph.mutable_input()->DeleteSubrange(i, 1);
      return;
    }
  }
}

/// Fixes the operands that configure the node, so that its layer and its shapes are known.
void fix_configuration(onnx::GraphProto& graph, const NamedTensors& inputs) {
  const onnx::NodeProto& node = graph.node(0);
  const auto& table = configuring_inputs();
  const auto row = std::find_if(table.begin(), table.end(), [&](const ConfiguringInputs& r) {
    return node.op_type().starts_with(r.op);
  });
  if (row == table.end()) {
    return;
  }
  for (const int index : row->inputs) {
    if (index >= node.input_size() || !inputs.contains(node.input(index))) {
      continue;
    }
    fix_input(graph, inputs.at(node.input(index)));
  }
}

/// Drops outputs that only training or other operators need (Mean, indices, masks).
void drop_optional_outputs(onnx::GraphProto& graph) {
  onnx::NodeProto& node = *graph.mutable_node(0);
  const std::string& op = node.op_type();
  if (op == "LayerNormalization" || op == "MaxPool" || op == "Dropout") {
    node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
    graph.mutable_output()->DeleteSubrange(1, graph.output_size() - 1);
  }
}

struct NodeTest {
  model::LayerSpec spec;
  std::vector<model::Tensor> operands;
  std::vector<model::Tensor> expected;
};

/// Reads the files of inputs or outputs ("input", "output").
NamedTensors read_values(const fs::path& folder,
                         const std::string& kind,
                         const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  NamedTensors result;
  for (int i = 0; i < values.size(); ++i) {
    result[values.Get(i).name()] =
        read_tensor(folder / "test_data_set_0" / fmt::format("{}_{}.pb", kind, i), values.Get(i));
  }
  return result;
}

NodeTest read_node_test(const fs::path& folder, onnx::ModelProto model) {
  drop_optional_outputs(*model.mutable_graph());
  const NamedTensors inputs = read_values(folder, "input", model.graph().input());
  const NamedTensors outputs = read_values(folder, "output", model.graph().output());
  fix_configuration(*model.mutable_graph(), inputs);

  const model::Graph graph = model::read_graph(std::move(model));
  if (graph.layers.size() != 1) {
    throw Unsupported{"it is no single layer"};
  }
  const model::Layer& layer = graph.layers[0];
  if (layer.role != model::Layer::Role::kCompute && layer.role != model::Layer::Role::kView) {
    throw Unsupported{layer.role == model::Layer::Role::kFolded ? "it acts on constants only"
                                                                : layer.reason};
  }
  NodeTest test;
  test.spec = layer.spec;
  for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
    model::Tensor& operand = test.operands.emplace_back();
    if (layer.spec.has_input(i)) {
      operand = tensor_of(inputs.at(graph.values.at(layer.inputs.at(i).value()).name));
    }
  }
  for (std::size_t i = 0; i < layer.spec.outputs.size(); ++i) {
    test.expected.push_back(tensor_of(outputs.at(graph.values.at(layer.outputs.at(i)).name)));
  }
  return test;
}

/// Fixes what can only configure a model of several nodes: whole numbers, and single values.
void fix_small_inputs(onnx::GraphProto& graph, const NamedTensors& inputs) {
  for (const auto& [name, value] : inputs) {
    const bool single = std::all_of(
        value.dims().begin(), value.dims().end(), [](auto extent) { return extent == 1; });
    if (single || (value.data_type() == onnx::TensorProto::INT64 && value.dims_size() <= 1)) {
      fix_input(graph, value);
    }
  }
}

/// Test of several nodes: a function of ONNX written out.
struct GraphTest {
  model::Graph graph;
  std::map<model::ValueId, model::Tensor> values;
  std::vector<model::Tensor> expected;
};

GraphTest read_graph_test(const fs::path& folder, onnx::ModelProto model) {
  const NamedTensors inputs = read_values(folder, "input", model.graph().input());
  const NamedTensors outputs = read_values(folder, "output", model.graph().output());
  fix_small_inputs(*model.mutable_graph(), inputs);
  model::LoadedModel loaded = model::load_model(model);
  GraphTest test{std::move(loaded.graph), std::move(loaded.constants), {}};
  bool computes = false;
  for (const model::Layer& layer : test.graph.layers) {
    if (layer.role == model::Layer::Role::kUnsupported) {
      throw Unsupported{layer.reason};
    }
    computes = computes || layer.role == model::Layer::Role::kCompute;
  }
  if (!computes) {
    throw Unsupported{"it acts on constants only"};
  }
  engine::fold_constants(test.graph, test.values);
  for (const model::ValueId input : test.graph.inputs) {
    test.values[input] = tensor_of(inputs.at(test.graph.values.at(input).name));
  }
  for (const model::ValueId output : test.graph.outputs) {
    test.expected.push_back(tensor_of(outputs.at(test.graph.values.at(output).name)));
  }
  return test;
}

/// Returns what several layers one after the other may differ by, relative to the largest value.
double graph_tolerance(const model::Tensor& expected) {
  switch (expected.type.dtype) {
    case model::DataType::kF64:
    case model::DataType::kF32:
      return 1e-4;
    case model::DataType::kF16:
    case model::DataType::kBf16:
      return 2e-2;
    default:
      return 0.0;
  }
}

/// Names tests whose expected outputs were typed in with a few digits, not computed.
bool is_rounded(std::string_view test) {
  return test == "test_averagepool_2d_ceil_last_window_starts_on_pad";
}

/// Executes one test; returns what is wrong, nothing if it passed. Throws Unsupported.
std::string problem_of(const fs::path& folder,
                       const onnx::ModelProto& model,
                       const NodeTestExecutor& executor) {
  std::vector<model::Tensor> outputs;
  const auto must = [](const results::Outcome& outcome) {
    if (!outcome.ok()) {
      throw Unsupported{outcome.reason};
    }
  };
  if (model.graph().node_size() != 1) {
    GraphTest test = read_graph_test(folder, model);
    must(executor.graph(test.graph, test.values, outputs));
    return difference(
        test.expected, outputs, [&](std::size_t i) { return graph_tolerance(test.expected[i]); });
  }
  const NodeTest test = read_node_test(folder, model);
  must(executor.layer(test.spec, test.operands, outputs));
  const bool rounded = is_rounded(folder.filename().string());
  const std::string problem = difference(test.expected, outputs, [&](std::size_t i) {
    return rounded ? 1e-3 : engine::compute_tolerance(test.spec, i);
  });
  return problem.empty() ? "" : fmt::format("{}; key: {}", problem, model::to_key(test.spec).text);
}

}  // namespace

fs::path node_test_folder() {
  const char* given = std::getenv("PLUMB_ONNX_NODE_TESTS");
  fs::path folder = given != nullptr ? given : "/usr/share/libonnx-testdata/data/node";
  return fs::is_directory(folder) ? folder : fs::path{};
}

NodeTestTally run_node_tests(const fs::path& folder, const NodeTestExecutor& executor) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "model.onnx")) {
      folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  NodeTestTally tally;
  for (const fs::path& test_folder : folders) {
    const std::string name = test_folder.filename().string();
    std::string op = "?";
    try {
      const onnx::ModelProto model = read_test_model(test_folder);
      op = model.graph().node_size() == 1 ? model.graph().node(0).op_type() : "(several nodes)";
      const std::string problem = problem_of(test_folder, model, executor);
      if (problem.empty()) {
        tally.passed.push_back(name);
      } else if (const auto limit = executor.limits.find(name); limit != executor.limits.end()) {
        throw Unsupported{limit->second};
      } else {
        tally.failed.push_back(fmt::format("{}: {}", name, problem));
      }
    } catch (const Unsupported& unsupported) {
      tally.unsupported[fmt::format("{}: {}", op, unsupported.reason)].push_back(name);
    } catch (const Error& error) {
      tally.failed.push_back(fmt::format("{}: {}", name, error.what()));
    }
  }
  return tally;
}

std::string to_text(const NodeTestTally& tally) {
  std::size_t unsupported = 0;
  std::string lines;
  for (const auto& [reason, tests] : tally.unsupported) {
    unsupported += tests.size();
    lines += fmt::format("  unsupported {:4} × {}\n", tests.size(), reason);
  }
  for (const std::string& failure : tally.failed) {
    lines += fmt::format("  failed {}\n", failure);
  }
  return fmt::format("ONNX node tests: {} passed, {} unsupported, {} failed\n{}",
                     tally.passed.size(),
                     unsupported,
                     tally.failed.size(),
                     lines);
}

}  // namespace plumb::test_support
