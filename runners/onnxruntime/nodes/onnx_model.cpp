// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/nodes/onnx_model.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/op_schema.hpp"
#include "runners/onnxruntime/nodes/node_writer.hpp"

namespace plumb::onnxruntime {
namespace {

constexpr std::array kRules = std::to_array<std::pair<std::string_view, NodeRule>>({
    {"arg_reduce", write_arg_reduce},
    {"attention", write_attention},
    {"average_pool", write_pool},
    {"batch_norm", write_normalization},
    {"binary", write_binary},
    {"cast", write_cast},
    {"concat", write_concat},
    {"conv", write_conv},
    {"conv_integer", write_conv_integer},
    {"conv_transpose", write_conv_transpose},
    {"depth_to_space", write_depth_to_space},
    {"dequantize", write_quantize},
    {"eltwise", write_eltwise},
    {"expand", write_expand},
    {"gather", write_gather},
    {"gemm", write_gemm},
    {"group_norm", write_normalization},
    {"gru", write_recurrent},
    {"instance_norm", write_normalization},
    {"layer_norm", write_normalization},
    {"lp_pool", write_pool},
    {"lrn", write_normalization},
    {"lstm", write_recurrent},
    {"matmul_integer", write_matmul_integer},
    {"max_pool", write_pool},
    {"pad", write_pad},
    {"quantize", write_quantize},
    {"reduce", write_reduce},
    {"resize", write_resize},
    {"rms_norm", write_normalization},
    {"rnn", write_recurrent},
    {"slice", write_slice},
    {"softmax", write_softmax},
    {"space_to_depth", write_space_to_depth},
    {"split", write_split},
    {"tile", write_tile},
    {"transpose", write_transpose},
    {"view", write_view},
});

// Operators of ONNX without attributes, whose operands are the layer's.
constexpr std::array kSameOperators = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"matmul", "MatMul"},
    {"max", "Max"},
    {"min", "Min"},
    {"prelu", "PRelu"},
    {"sum", "Sum"},
    {"where", "Where"},
});

template <typename Table>
auto find_row(const Table& table, std::string_view op) {
  return std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.first == op; });
}

/// Returns the number of operands that the operator itself takes. Others are of fused steps.
std::size_t own_operands(const model::LayerSpec& spec) {
  std::size_t count = spec.inputs.size();
  for (const model::Epilogue& step : spec.epilogue) {
    count = std::min(count, step.operand.value_or(count));
  }
  return count;
}

void write_operator(NodeWriter::Layer layer, NodeWriter& writer) {
  if (layer.spec.math == model::LayerSpec::MathClass::kTf32) {
    throw Error(Error::Kind::kUser, "no kernel of ONNX Runtime on a CPU multiplies in TF32");
  }
  layer.inputs.resize(own_operands(layer.spec));
  if (const auto* const rule = find_row(kRules, layer.spec.op); rule != kRules.end()) {
    rule->second(layer, writer);
  } else if (const auto* const same = find_row(kSameOperators, layer.spec.op);
             same != kSameOperators.end()) {
    writer.add(same->second, layer.inputs, layer.outputs);
  } else {
    throw Error(Error::Kind::kUser, fmt::format("no ONNX operator is a '{}'", layer.spec.op));
  }
}

/// Writes the nodes of a layer, fused steps included. Throws Error{kUser} where ONNX has no such
/// operator.
void write_nodes(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const model::LayerSpec& spec = layer.spec;
  NodeWriter::Layer own = layer;
  if (!spec.epilogue.empty()) {
    own.outputs.front() += "_0";
  }
  write_operator(own, writer);
  std::string value = own.outputs.front();
  for (std::size_t i = 0; i < spec.epilogue.size(); ++i) {
    const model::Epilogue& step = spec.epilogue[i];
    const bool last = i + 1 == spec.epilogue.size();
    const std::string next =
        last ? layer.outputs.front() : fmt::format("{}_{}", layer.outputs.front(), i + 1);
    if (!step.operand) {
      write_function(step.fn, step.parameters, spec.outputs[0].dtype, value, next, writer);
    } else if (model::is_binary_function(step.fn)) {
      write_binary_function(step.fn, {value, layer.inputs[*step.operand]}, next, writer);
    } else {
      throw Error(Error::Kind::kUser, fmt::format("no ONNX operator computes '{}'", step.fn));
    }
    value = next;
  }
}

constexpr std::int64_t kLargestModel = std::numeric_limits<std::int32_t>::max() - (1 << 20);

bool is_input(const OnnxModel::Value& value) {
  return !value.name.empty() && !value.type.constant;
}

/// Writer of a whole graph.
class GraphWriter {
 public:
  explicit GraphWriter(const model::Graph& graph) : graph_(graph) {
    for (const model::ValueId input : graph.inputs) {
      static_cast<void>(operand_name(input, false));
    }
  }

  OnnxModel write() {
    for (const model::Layer& layer : graph_.layers) {
      if (layer.role == model::Layer::Role::kUnsupported) {
        throw Error(Error::Kind::kUser, fmt::format("layer '{}': {}", layer.name, layer.reason));
      }
      if (layer.role != model::Layer::Role::kFolded) {
        write_layer_nodes(layer);
      }
    }
    for (const model::ValueId output : graph_.outputs) {
      add_output(output);
    }
    model_.bytes = writer_.finish();
    return std::move(model_);
  }

  [[nodiscard]] std::vector<model::ValueId> operands() const { return operands_; }

 private:
  void write_layer_nodes(const model::Layer& layer) {
    NodeWriter::Layer named{layer.spec, {}, {}};
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      named.inputs.push_back(layer.spec.has_input(i) ? name_of(layer.inputs.at(i).value())
                                                     : std::string());
    }
    for (std::size_t i = 0; i < layer.spec.outputs.size(); ++i) {
      named.outputs.push_back(fmt::format("v{}", layer.outputs.at(i)));
      made_.insert(layer.outputs[i]);
    }
    writer_.begin(layer.name);
    try {
      write_nodes(named, writer_);
    } catch (const Error& refusal) {
      throw Error(refusal.kind(), fmt::format("layer '{}': {}", layer.name, refusal.what()));
    }
  }

  /// Returns the name of a value that a layer reads. One that no node makes becomes an operand.
  std::string name_of(model::ValueId value) {
    return made_.contains(value) ? fmt::format("v{}", value) : operand_name(value, true);
  }

  std::string operand_name(model::ValueId value, bool constant) {
    std::string name = fmt::format("v{}", value);
    if (known_.insert(value).second) {
      model::TensorType type = graph_.values[value].type;
      type.constant = constant;
      if (!constant) {
        writer_.add_input(name, type);
      }
      model_.operands.push_back({name, type});
      operands_.push_back(value);
    }
    return name;
  }

  void add_output(model::ValueId value) {
    const model::TensorType& type = graph_.values[value].type;
    std::string name = name_of(value);
    if (!made_.contains(value) || !given_.insert(value).second) {
      writer_.begin(fmt::format("output{}", model_.outputs.size()));
      name = writer_.add_value("Identity", {name});
    }
    writer_.add_output(name, type);
    model_.outputs.push_back({name, type});
  }

  const model::Graph& graph_;
  NodeWriter writer_;
  OnnxModel model_;
  std::vector<model::ValueId> operands_;
  std::set<model::ValueId> known_;  // operands
  std::set<model::ValueId> made_;   // by nodes
  std::set<model::ValueId> given_;  // outputs under their own name
};

using Values = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

/// Opens the extents of `joined` in which it differs from `others`. Returns false for other ranks.
bool open_extents(const Values& others, Values& joined) {
  if (others.size() != joined.size()) {
    return false;
  }
  for (int i = 0; i < joined.size(); ++i) {
    const onnx::TensorShapeProto& other = others[i].type().tensor_type().shape();
    onnx::TensorShapeProto& shape =
        *joined[i].mutable_type()->mutable_tensor_type()->mutable_shape();
    if (other.dim_size() != shape.dim_size()) {
      return false;
    }
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      if (other.dim(axis).dim_value() != shape.dim(axis).dim_value()) {
        shape.mutable_dim(axis)->clear_dim_value();
      }
    }
  }
  return true;
}

bool has_same_weights(const OnnxModel& one, const OnnxModel& other) {
  return std::equal(one.operands.begin(),
                    one.operands.end(),
                    other.operands.begin(),
                    other.operands.end(),
                    [](const OnnxModel::Value& left, const OnnxModel::Value& right) {
                      return left.name == right.name && left.type.constant == right.type.constant &&
                             (!left.type.constant || left.type.dims == right.type.dims);
                    });
}

/// Returns what stands before a field of so many bytes in a message.
std::string head_of(int field, std::size_t size) {
  using google::protobuf::io::CodedOutputStream;
  constexpr std::uint32_t kBytes = 2;  // the type of such fields
  constexpr std::size_t kMost = 5 + 10;
  std::array<std::uint8_t, kMost> head{};
  std::uint8_t* end = CodedOutputStream::WriteTagToArray(
      static_cast<std::uint32_t>(field) << 3U | kBytes, head.data());
  end = CodedOutputStream::WriteVarint64ToArray(size, end);
  return {head.data(), end};
}

/// Appends an initializer to a model. Messages one behind the other are read as one. The numbers,
/// which may be gigabytes, are copied once.
void append_weight(const std::string& name, const model::Tensor& content, std::string& model) {
  onnx::TensorProto described;
  describe(described, name, content.type);
  const std::size_t size = content.data.size();
  const std::string tensor =
      described.SerializeAsString() + head_of(onnx::TensorProto::kRawDataFieldNumber, size);
  const std::string weight =
      head_of(onnx::GraphProto::kInitializerFieldNumber, tensor.size() + size) + tensor;
  model += head_of(onnx::ModelProto::kGraphFieldNumber, weight.size() + size) + weight;
  model.append(static_cast<const char*>(static_cast<const void*>(content.data.data())), size);
}

}  // namespace

std::optional<std::string> join_shapes(std::span<const OnnxModel> models) {
  std::vector<onnx::ModelProto> protos(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    PLUMB_CHECK(protos[i].ParseFromString(models[i].bytes));
  }
  onnx::ModelProto joined = protos.at(0);
  for (std::size_t i = 1; i < models.size(); ++i) {
    if (!has_same_weights(models[0], models[i]) ||
        !open_extents(protos[i].graph().input(), *joined.mutable_graph()->mutable_input()) ||
        !open_extents(protos[i].graph().output(), *joined.mutable_graph()->mutable_output())) {
      return std::nullopt;
    }
  }
  std::string bytes = joined.SerializeAsString();
  for (onnx::ModelProto& proto : protos) {
    *proto.mutable_graph()->mutable_input() = joined.graph().input();
    *proto.mutable_graph()->mutable_output() = joined.graph().output();
    if (proto.SerializeAsString() != bytes) {
      return std::nullopt;  // a node has an extent among its attributes
    }
  }
  return bytes;
}

Bytes OnnxModel::weight_bytes() const {
  Bytes sum;
  for (const OnnxModel::Value& operand : operands) {
    if (operand.type.constant) {
      sum += model::byte_size(operand.type);
    }
  }
  return sum;
}

std::string OnnxModel::with_weights(std::span<const model::Tensor> values) const {
  PLUMB_CHECK(values.size() == operands.size());
  if (weight_bytes().value > kLargestModel) {
    throw Error(Error::Kind::kUser,
                fmt::format("its weights have {} bytes, and a model in memory at most {}",
                            weight_bytes().value,
                            kLargestModel));
  }
  constexpr std::size_t kHeads = 256;  // of a weight, but its name
  std::size_t size = bytes.size();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    size += kHeads + operands[i].name.size() + values[i].data.size();
  }
  std::string whole;
  whole.reserve(size);
  whole = bytes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].type.constant && !operands[i].name.empty()) {
      append_weight(operands[i].name, values[i], whole);
    }
  }
  return whole;
}

std::string OnnxModel::with_weights_as_inputs() const {
  onnx::ModelProto inputs;
  for (const OnnxModel::Value& operand : operands) {
    if (operand.type.constant && !operand.name.empty()) {
      describe(*inputs.mutable_graph()->add_input(), operand.name, operand.type);
    }
  }
  std::string whole = bytes;
  inputs.AppendToString(&whole);
  return whole;
}

OnnxModel write_layer(const model::LayerSpec& spec) {
  OnnxModel model;
  NodeWriter writer;
  writer.begin(spec.op);
  NodeWriter::Layer layer{spec, {}, {}};
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    OnnxModel::Value value;
    if (spec.has_input(i)) {
      value = {fmt::format("x{}", i), *spec.inputs[i]};
    }
    if (is_input(value)) {
      writer.add_input(value.name, value.type);
    }
    layer.inputs.push_back(value.name);
    model.operands.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    layer.outputs.push_back(fmt::format("y{}", i));
    writer.add_output(layer.outputs.back(), spec.outputs[i]);
    model.outputs.push_back({layer.outputs.back(), spec.outputs[i]});
  }
  write_nodes(layer, writer);
  model.bytes = writer.finish();
  return model;
}

OnnxModel write_model(const model::Graph& graph, std::vector<model::ValueId>& values) {
  GraphWriter writer(graph);
  OnnxModel model = writer.write();
  values = writer.operands();
  return model;
}

}  // namespace plumb::onnxruntime
