// SPDX-License-Identifier: Apache-2.0
#include "tests/support/onnx_node_tests.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/model/constant_value.hpp"
#include "harness/model/onnx_reader.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/verification.hpp"

namespace plumb::testing {
namespace {

namespace fs = std::filesystem;

/// Says why a test cannot be executed.
struct Unsupported {
  std::string reason;
};

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

template <typename Message>
Message read_message(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Message message;
  if (!file || !message.ParseFromIstream(&file)) {
    throw Unsupported{"a file cannot be read as what it should be"};
  }
  return message;
}

Tensor tensor_of(const onnx::TensorProto& proto) {
  Tensor tensor;
  const std::optional<DataType> type = data_type_of(proto.data_type());
  if (!type || !is_number(*type)) {
    throw Unsupported{"its data are of a type that is no number here"};
  }
  tensor.type.dtype = *type;
  tensor.type.dims.assign(proto.dims().begin(), proto.dims().end());
  const auto bytes = static_cast<std::size_t>(byte_size(tensor.type).value);
  tensor.data.resize(bytes);
  const auto copy = [&](const void* from, std::size_t size) {
    if (size != bytes) {
      throw Unsupported{"its data do not fit its shape"};
    }
    if (bytes > 0) {
      std::memcpy(tensor.data.data(), from, bytes);
    }
  };
  if (proto.has_raw_data()) {
    copy(proto.raw_data().data(), proto.raw_data().size());
  } else if (tensor.type.dtype == DataType::kF32) {
    copy(proto.float_data().data(), static_cast<std::size_t>(proto.float_data_size()) * 4);
  } else if (tensor.type.dtype == DataType::kF64) {
    copy(proto.double_data().data(), static_cast<std::size_t>(proto.double_data_size()) * 8);
  } else if (tensor.type.dtype == DataType::kS64) {
    copy(proto.int64_data().data(), static_cast<std::size_t>(proto.int64_data_size()) * 8);
  } else if (bytes > 0) {
    // All types below 64 bits stand in int32_data, 16-bit floats as their bits.
    const auto size = static_cast<std::size_t>(element_bytes(tensor.type.dtype));
    if (static_cast<std::size_t>(proto.int32_data_size()) != bytes / size) {
      throw Unsupported{"its data do not fit its shape"};
    }
    for (int i = 0; i < proto.int32_data_size(); ++i) {
      const std::int32_t value = proto.int32_data(i);
      std::memcpy(tensor.data.data() + static_cast<std::size_t>(i) * size, &value, size);
    }
  }
  return tensor;
}

onnx::TensorProto read_tensor(const fs::path& path, const onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) {
    throw Unsupported{"its values are sequences or optional"};
  }
  auto proto = read_message<onnx::TensorProto>(path);
  proto.set_name(value.name());
  // NumPy has no bfloat16: the tests of ONNX 1.12 store its bits as uint16.
  if (value.type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16 &&
      proto.data_type() == onnx::TensorProto::UINT16) {
    proto.set_data_type(onnx::TensorProto::BFLOAT16);
  }
  return proto;
}

/// Fixes the operands that configure the node, so that its layer and its shapes are known.
void fix_configuration(onnx::GraphProto& graph,
                       const std::map<std::string, onnx::TensorProto>& inputs) {
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
    *graph.add_initializer() = inputs.at(node.input(index));
    for (int i = 0; i < graph.input_size(); ++i) {
      if (graph.input(i).name() == node.input(index)) {
        graph.mutable_input()->DeleteSubrange(i, 1);
        break;
      }
    }
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

/// Lifts tests of opsets before 7, which models no longer use, to it: their operators did not
/// change until then.
void lift_opset(onnx::ModelProto& model) {
  for (onnx::OperatorSetIdProto& opset : *model.mutable_opset_import()) {
    if (opset.domain().empty() && opset.version() < 7) {
      opset.set_version(7);
    }
  }
}

struct NodeTest {
  LayerSpec spec;
  std::vector<Tensor> operands;
  std::vector<Tensor> expected;
};

NodeTest read_node_test(const fs::path& folder, onnx::ModelProto model) {
  const fs::path data = folder / "test_data_set_0";
  if (model.graph().node_size() != 1) {
    throw Unsupported{"it has several nodes"};
  }
  lift_opset(model);
  drop_optional_outputs(*model.mutable_graph());
  std::map<std::string, onnx::TensorProto> inputs;
  for (int i = 0; i < model.graph().input_size(); ++i) {
    const onnx::ValueInfoProto& value = model.graph().input(i);
    inputs[value.name()] = read_tensor(data / fmt::format("input_{}.pb", i), value);
  }
  std::map<std::string, onnx::TensorProto> outputs;
  for (int i = 0; i < model.graph().output_size(); ++i) {
    const onnx::ValueInfoProto& value = model.graph().output(i);
    outputs[value.name()] = read_tensor(data / fmt::format("output_{}.pb", i), value);
  }
  fix_configuration(*model.mutable_graph(), inputs);

  const Graph graph = graph_of(std::move(model));
  if (graph.layers.size() != 1) {
    throw Unsupported{"it is no single layer"};
  }
  const Layer& layer = graph.layers[0];
  if (layer.role != Layer::Role::kCompute && layer.role != Layer::Role::kView) {
    throw Unsupported{layer.role == Layer::Role::kFolded ? "it acts on constants only"
                                                         : layer.reason};
  }
  NodeTest test;
  test.spec = layer.spec;
  for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
    Tensor& operand = test.operands.emplace_back();
    if (layer.spec.has_input(i)) {
      operand = tensor_of(inputs.at(graph.values.at(layer.inputs.at(i).value()).name));
    }
  }
  for (std::size_t i = 0; i < layer.spec.outputs.size(); ++i) {
    test.expected.push_back(tensor_of(outputs.at(graph.values.at(layer.outputs.at(i)).name)));
  }
  return test;
}

/// Names tests whose expected outputs were typed in with a few digits, not computed.
bool is_rounded(std::string_view test) {
  return test == "test_averagepool_2d_ceil_last_window_starts_on_pad";
}

/// Says what differs; empty if nothing. NumPy computed the expected outputs in the tensors' own
/// types.
std::string difference(const LayerSpec& spec,
                       bool rounded,
                       const std::vector<Tensor>& expected,
                       const std::vector<Tensor>& actual) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i >= actual.size() || actual[i].type.dims != expected[i].type.dims ||
        actual[i].type.dtype != expected[i].type.dtype) {
      return fmt::format("output {} has another shape or type", i);
    }
    const std::vector<double> right = numbers_of(expected[i]);
    const std::vector<double> got = numbers_of(actual[i]);
    double largest = 0.0;
    for (const double value : right) {
      largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
    }
    const double allowed = (rounded ? 1e-3 : tolerance_of(spec, i)) * largest;
    for (std::size_t element = 0; element < right.size(); ++element) {
      const bool same =
          std::isnan(right[element]) ? std::isnan(got[element]) : right[element] == got[element];
      if (!same && !(std::fabs(right[element] - got[element]) <= allowed)) {
        return fmt::format("output {} element {}: expected {:.9g}, got {:.9g}, allowed is {:.3g}",
                           i,
                           element,
                           right[element],
                           got[element],
                           allowed);
      }
    }
  }
  return {};
}

}  // namespace

fs::path node_test_folder() {
  const char* given = std::getenv("PLUMB_ONNX_NODE_TESTS");
  fs::path folder = given != nullptr ? given : "/usr/share/libonnx-testdata/data/node";
  return fs::is_directory(folder) ? folder : fs::path{};
}

NodeTestTally run_node_tests(const fs::path& folder, const LayerExecutor& execute) {
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
      const auto model = read_message<onnx::ModelProto>(test_folder / "model.onnx");
      op = model.graph().node_size() == 1 ? model.graph().node(0).op_type() : "(several nodes)";
      const NodeTest test = read_node_test(test_folder, model);
      std::vector<Tensor> outputs;
      const Outcome outcome = execute(test.spec, test.operands, outputs);
      if (!outcome.ok()) {
        throw Unsupported{outcome.reason};
      }
      const std::string problem = difference(test.spec, is_rounded(name), test.expected, outputs);
      if (problem.empty()) {
        tally.passed.push_back(name);
      } else {
        tally.failed.push_back(
            fmt::format("{}: {}; key: {}", name, problem, to_key(test.spec).text));
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

}  // namespace plumb::testing
