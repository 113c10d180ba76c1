// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/shapes/shape_inference.hpp"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/limited_call.hpp"
#include "harness/model/key/shape_rules.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {
namespace {

constexpr std::size_t kMaxEquation = 4096;

/// Returns whether a term is letters around at most one ellipsis.
bool is_term(std::string_view term) {
  if (const std::size_t dots = term.find("..."); dots != std::string_view::npos) {
    return is_term(term.substr(0, dots)) && term.find('.', dots + 3) == std::string_view::npos &&
           is_term(term.substr(dots + 3));
  }
  return std::all_of(term.begin(), term.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

/// Checks the grammar of an Einsum's equation: terms with commas between, and perhaps an arrow and
/// one more term. The library's rule waits for ever at any other character.
std::optional<std::string> refuse_einsum(const NodeView& node) {
  std::string equation = node.word("equation", "");
  if (equation.size() > kMaxEquation) {
    return fmt::format(
        "an equation of {} characters, where at most {} are read", equation.size(), kMaxEquation);
  }
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const std::size_t arrow = equation.find("->");
  std::string_view left = std::string_view(equation).substr(0, arrow);
  bool valid = arrow == std::string::npos || is_term(std::string_view(equation).substr(arrow + 2));
  while (valid) {
    const std::size_t comma = left.find(',');
    valid = is_term(left.substr(0, comma));
    if (comma == std::string_view::npos) {
      break;
    }
    left.remove_prefix(comma + 1);
  }
  if (valid) {
    return std::nullopt;
  }
  return fmt::format(
      "the equation '{}' is not letters, commas, '->' and at most one '...' in a term",
      node.word("equation", "").substr(0, 200));
}

/// Checks that a Split has as many outputs as it says. The library's rule makes room for what it
/// says, and reads what it has.
std::optional<std::string> refuse_split(const NodeView& node) {
  const onnx::AttributeProto* const count = node.attribute("num_outputs");
  if (count == nullptr || count->i() == static_cast<std::int64_t>(node.output_count())) {
    return std::nullopt;
  }
  return fmt::format(
      "num_outputs is {}, and the node has {} outputs", count->i(), node.output_count());
}

/// Returns why the onnx library's rule for a node must not run on it. Empty: it may. The rules of
/// some operators trust attributes: they then never end, or take memory without limit.
std::optional<std::string> refuse_rule(const NodeView& node) {
  if (node.op() == "Einsum") {
    return refuse_einsum(node);
  }
  if (node.op() == "Split") {
    return refuse_split(node);
  }
  return std::nullopt;
}

/// View of one node for a rule of the onnx library.
class Context final : public onnx::InferenceContext {
 public:
  explicit Context(const NodeView& node) : node_(&node), outputs_(node.output_count()) {}

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    return node_->attribute(name);
  }
  size_t getNumInputs() const override { return node_->input_count(); }
  const onnx::TypeProto* getInputType(size_t index) const override {
    const ModelValue* value = node_->input(index);
    return value == nullptr || value->proto.value_case() == onnx::TypeProto::VALUE_NOT_SET
               ? nullptr
               : &value->proto;
  }
  bool hasInput(size_t index) const override { return node_->has_input(index); }
  const onnx::TensorProto* getInputData(size_t index) const override {
    ModelValue* value = node_->input(index);
    return value == nullptr ? nullptr : value->tensor();
  }
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t index) override { return &outputs_.at(index); }
  bool hasOutput(size_t index) override { return node_->output(index) != nullptr; }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override {
    return nullptr;
  }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t) const override { return nullptr; }
  std::string getDisplayName() const override { return {}; }

  void store() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (ModelValue* output = node_->output(i)) {
        output->set_proto(std::move(outputs_[i]));
      }
    }
  }

 private:
  const NodeView* node_;
  std::vector<onnx::TypeProto> outputs_;
};

// Operators whose output is like their first input, where the library has no rule or lacks the
// operator.
constexpr std::array<std::string_view, 7> kLikeInput = {"Affine",
                                                        "GroupNormalization",
                                                        "ImageScaler",
                                                        "MeanVarianceNormalization",
                                                        "ParametricSoftplus",
                                                        "Scale",
                                                        "ScaledTanh"};

bool is_default_domain(const NodeView& node) {
  return node.proto().domain().empty() || node.proto().domain() == "ai.onnx";
}

const onnx::OpSchema* schema_of(const NodeView& node) {
  const std::string domain = is_default_domain(node) ? std::string() : node.proto().domain();
  const auto version = static_cast<int>(node.opset());
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op(), version, domain);
  if (schema != nullptr && !schema->has_type_and_shape_inference_function()) {
    // Version 12 of these two operators has no rule. Their strict counterparts have the same
    // shapes.
    if (node.op() == "GreaterOrEqual") {
      return onnx::OpSchemaRegistry::Schema("Greater", version, domain);
    }
    if (node.op() == "LessOrEqual") {
      return onnx::OpSchemaRegistry::Schema("Less", version, domain);
    }
  }
  return schema;
}

}  // namespace

std::optional<std::string> infer_outputs(const NodeView& node) {
  const onnx::OpSchema* schema = schema_of(node);
  if (schema != nullptr && schema->has_type_and_shape_inference_function()) {
    if (is_default_domain(node)) {
      if (std::optional<std::string> problem = refuse_rule(node)) {
        return problem;
      }
    }
    Context context(node);
    try {
      const LimitedCall call(fmt::format(
          "the onnx library's rule of {} for node '{}'", node.op(), node.proto().name()));
      schema->GetTypeAndShapeInferenceFunction()(context);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      return error.what();
    }
    context.store();
  }
  if (is_default_domain(node) && node.has_input(0) && node.has_output(0) && !node.output(0)->type) {
    for (const std::string_view op : kLikeInput) {
      if (op == node.op()) {
        node.output(0)->set_proto(node.input(0)->proto);
      }
    }
  }
  return std::nullopt;
}

void follow_batch(const NodeView& node, std::int64_t file_batch, std::int64_t batch) {
  if (node.op() != "Reshape" || !is_default_domain(node) || !node.has_input(1) ||
      !node.input(0)->type || !node.output(0)->type ||
      node.output(0)->origin != ModelValue::Origin::kData) {
    return;
  }
  const ConstantValue* target = node.input(1)->known();
  const TensorType& input = *node.input(0)->type;
  if (target == nullptr || target->integers.empty() || target->integers[0] != file_batch ||
      input.dims.empty() || input.dims[0] != batch || batch == 0 || element_count(input) == 0) {
    return;
  }
  std::vector<std::int64_t> dims = node.output(0)->type->dims;
  if (dims.size() != target->integers.size()) {
    return;
  }
  dims[0] = batch;
  TensorType others = {.dtype = input.dtype, .dims = {}, .constant = false, .strides = {}};
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (target->integers[i] == -1) {
      open = i;
    } else {
      others.dims.push_back(dims[i]);
    }
  }
  if (open && element_count(others) > 0) {
    dims[*open] = element_count(input) / element_count(others);
  }
  onnx::TypeProto type = node.output(0)->proto;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    type.mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(static_cast<int>(i))
        ->set_dim_value(dims[i]);
  }
  node.output(0)->set_proto(std::move(type));
}

}  // namespace plumb::model

namespace plumb::model::shape_rules {
namespace {

Dims without_axes(const Dims& x, const Dims& axes, bool keep, const char* field) {
  Dims result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require(axes[i] >= 0 && axes[i] < static_cast<std::int64_t>(x.size()) &&
                (i == 0 || axes[i - 1] < axes[i]),
            field,
            "not ascending, or beyond the rank");
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end()) {
      result.push_back(x[i]);
    } else if (keep) {
      result.push_back(1);
    }
  }
  return result;
}

}  // namespace

Dims concat_dims(const LayerSpec& spec) {
  Dims result = dims(spec, 0);
  const std::size_t axis = read_axis(spec, "axis", result.size());
  for (std::size_t i = 1; i < own_operands(spec); ++i) {
    require(spec.has_input(i) && dims(spec, i).size() == result.size(),
            "in",
            "operands of different ranks");
    for (std::size_t j = 0; j < result.size(); ++j) {
      require(j == axis || dims(spec, i)[j] == result[j], "in", "operands differ off the axis");
    }
    result[axis] += dims(spec, i)[axis];
  }
  return result;
}

Dims split_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const std::size_t axis = read_axis(spec, "axis", x.size());
  std::int64_t sum = 0;
  for (const TensorType& output : spec.outputs) {
    require(output.dims.size() == x.size(), "out", "outputs of another rank");
    for (std::size_t j = 0; j < x.size(); ++j) {
      require(j == axis || output.dims[j] == x[j], "out", "outputs differ off the axis");
    }
    sum += output.dims[axis];
  }
  require(sum == x[axis], "out", "parts of {} in all for an extent of {}", sum, x[axis]);
  return spec.outputs[0].dims;
}

Dims slice_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const Dims& out = spec.outputs[0].dims;
  const Dims& axes = spec.integers("axes");
  const Dims& starts = read_list(spec, "starts", axes.size(), 0);
  const Dims& steps = spec.integers("steps");
  require(out.size() == x.size(), "out", "another rank than the input");
  require(steps.size() == axes.size(), "steps", "not one for each axis");
  Dims result = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require(axes[i] >= 0 && axes[i] < static_cast<std::int64_t>(x.size()) &&
                (i == 0 || axes[i - 1] < axes[i]),
            "axes",
            "not ascending, or beyond the rank");
    const auto axis = static_cast<std::size_t>(axes[i]);
    require(steps[i] != 0 && std::abs(static_cast<double>(steps[i])) < 0x1p62,
            "steps",
            "zero or out of range");
    if (out[axis] > 0) {
      const double last = static_cast<double>(starts[i]) +
                          static_cast<double>(out[axis] - 1) * static_cast<double>(steps[i]);
      require(starts[i] < x[axis] && last >= 0 && last < static_cast<double>(x[axis]),
              "starts",
              "elements beyond the extent of {}",
              x[axis]);
    }
    result[axis] = out[axis];
  }
  return result;
}

Dims pad_dims(const LayerSpec& spec) {
  Dims result = dims(spec, 0);
  const std::size_t rank = result.size();
  const Dims& pads = read_list(spec, "pads", 2 * rank, -(std::int64_t{1} << 40));
  for (std::size_t i = 0; i < rank; ++i) {
    result[i] += pads[i] + pads[i + rank];
  }
  return result;
}

Dims transpose_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const Dims& perm = read_list(spec, "perm", x.size(), 0);
  std::vector<bool> seen(x.size(), false);
  Dims result;
  for (const std::int64_t axis : perm) {
    const auto index = static_cast<std::size_t>(axis);
    require(index < x.size() && !seen[index], "perm", "not a permutation");
    seen[index] = true;
    result.push_back(x[index]);
  }
  return result;
}

Dims view_dims(const LayerSpec& spec) {
  const std::int64_t before = element_count(*spec.inputs[0]);
  const std::int64_t after = element_count(spec.outputs[0]);
  require(before == after && spec.inputs[0]->dtype == spec.outputs[0].dtype,
          "out",
          "a view of {} elements as {}",
          before,
          after);
  return spec.outputs[0].dims;
}

Dims gather_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const auto axis = static_cast<std::ptrdiff_t>(read_axis(spec, "axis", x.size()));
  Dims result(x.begin(), x.begin() + axis);
  result.insert(result.end(), dims(spec, 1).begin(), dims(spec, 1).end());
  result.insert(result.end(), x.begin() + axis + 1, x.end());
  return result;
}

Dims resize_dims(const LayerSpec& spec) {
  const std::size_t rank = dims(spec, 0).size();
  require(spec.outputs[0].dims.size() == rank, "out", "another rank than the input");
  require(spec.reals("scales").size() == rank, "scales", "not one for each dimension");
  for (const double scale : spec.reals("scales")) {
    require(scale > 0.0 && scale <= 0x1p20, "scales", "{} is out of range", scale);
  }
  return spec.outputs[0].dims;
}

Dims reduce_dims(const LayerSpec& spec) {
  return without_axes(dims(spec, 0), spec.integers("axes"), spec.integer("keepdims") != 0, "axes");
}

Dims arg_reduce_dims(const LayerSpec& spec) {
  return without_axes(dims(spec, 0), {spec.integer("axis")}, spec.integer("keepdims") != 0, "axis");
}

Dims expand_dims(const LayerSpec& spec) {
  require_broadcast_to(*spec.inputs[0], spec.outputs[0].dims);
  return spec.outputs[0].dims;
}

Dims tile_dims(const LayerSpec& spec) {
  Dims result = dims(spec, 0);
  const Dims& repeats = read_list(spec, "repeats", result.size(), 0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    require(
        repeats[i] < (1 << 20) && result[i] < (std::int64_t{1} << 41), "repeats", "out of range");
    result[i] *= repeats[i];
  }
  return result;
}

Dims block_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const std::int64_t block = spec.integer("block");
  require(x.size() == 4, "in", "four dimensions are needed");
  require(block >= 1 && block <= 4096, "block", "{} is out of range", block);
  if (spec.op == "depth_to_space") {
    require(x[1] % (block * block) == 0, "block", "{} channels", x[1]);
    return {x[0], x[1] / (block * block), x[2] * block, x[3] * block};
  }
  require(x[2] % block == 0 && x[3] % block == 0, "block", "{} × {}", x[2], x[3]);
  return {x[0], x[1] * block * block, x[2] / block, x[3] / block};
}

}  // namespace plumb::model::shape_rules
