// SPDX-License-Identifier: Apache-2.0
#include "suites/zoo/graph_builder.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "harness/base/error.hpp"

namespace plumb::zoo {
namespace {

/// The oldest IR whose initializers need not be graph inputs as well.
constexpr std::int64_t kIrVersion = 4;

onnx::TensorProto::DataType onnx_type(model::DataType type) {
  PLUMB_CHECK(type == model::DataType::kF32 || type == model::DataType::kS64);
  return type == model::DataType::kF32 ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64;
}

void describe(onnx::ValueInfoProto& value,
              const std::string& name,
              const Shape& shape,
              model::DataType type) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_type(type));
  auto& dims = *tensor.mutable_shape();
  for (const std::int64_t extent : shape) {
    dims.add_dim()->set_dim_value(extent);
  }
}

void set_value(onnx::AttributeProto& attribute, std::int64_t value) {
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}
void set_value(onnx::AttributeProto& attribute, float value) {
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}
void set_value(onnx::AttributeProto& attribute, const std::string& value) {
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}
void set_value(onnx::AttributeProto& attribute, const std::vector<std::int64_t>& values) {
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) {
    attribute.add_ints(value);
  }
}

void set_value(onnx::AttributeProto& attribute, const std::vector<float>& values) {
  attribute.set_type(onnx::AttributeProto::FLOATS);
  for (const float value : values) {
    attribute.add_floats(value);
  }
}

std::string lower(std::string_view op) {
  std::string text(op);
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') {
      letter = static_cast<char>(letter - 'A' + 'a');
    }
  }
  return text;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string_view model_name, std::int64_t opset)
    : opset_(opset), model_(std::make_unique<onnx::ModelProto>()) {
  model_->set_ir_version(opset < 15 ? kIrVersion : 8);
  model_->set_producer_name("plumbline");
  auto& import = *model_->add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  model_->mutable_graph()->set_name(std::string(model_name));
}

GraphBuilder::~GraphBuilder() = default;

Wire GraphBuilder::input(std::string_view name, Shape shape, model::DataType type) {
  describe(*model_->mutable_graph()->add_input(), std::string(name), shape, type);
  return {*this, std::string(name), std::move(shape)};
}

Wire GraphBuilder::weight(std::string_view name, Shape shape) {
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : shape) {
    tensor.add_dims(extent);
  }
  return {*this, std::string(name), std::move(shape)};
}

Wire GraphBuilder::integers(std::string_view name,
                            const std::vector<std::int64_t>& values,
                            Shape shape) {
  PLUMB_CHECK(element_count(shape) == static_cast<std::int64_t>(values.size()));
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (const std::int64_t extent : shape) {
    tensor.add_dims(extent);
  }
  for (const std::int64_t value : values) {
    tensor.add_int64_data(value);
  }
  return {*this, std::string(name), std::move(shape)};
}

Wire GraphBuilder::scalar(std::string_view name, float value) {
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(value);
  return {*this, std::string(name), {}};
}

Wire GraphBuilder::reals(std::string_view name, const std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  Wire wire = weight(name, {count});
  auto& tensor = *model_->mutable_graph()->mutable_initializer()->rbegin();
  tensor.mutable_float_data()->Add(values.begin(), values.end());
  return wire;
}

Wire GraphBuilder::node(std::string_view op,
                        const std::vector<Wire>& inputs,
                        Shape output,
                        const std::vector<NodeAttribute>& attributes,
                        std::string name,
                        const std::vector<std::string>& more_outputs) {
  if (name.empty()) {
    name = next_name(op, {});
  }
  auto& node = *model_->mutable_graph()->add_node();
  node.set_op_type(std::string(op));
  node.set_name(name);
  for (const Wire& input : inputs) {
    node.add_input(input.name());
  }
  const std::string result = name + "_out";
  node.add_output(result);
  for (const std::string& suffix : more_outputs) {
    node.add_output(name + suffix);
  }
  for (const auto& [key, value] : attributes) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(key);
    std::visit([&attribute](const auto& held) { set_value(attribute, held); }, value);
  }
  return {*this, result, std::move(output)};
}

Wire GraphBuilder::concat(const std::vector<Wire>& inputs, std::int64_t axis) {
  Shape out = inputs.front().shape();
  const auto at = static_cast<std::size_t>(axis);
  out[at] = 0;
  for (const Wire& input : inputs) {
    out[at] += input.shape()[at];
  }
  return node("Concat", inputs, std::move(out), {{"axis", axis}});
}

void GraphBuilder::output(const Wire& wire, model::DataType type) {
  describe(*model_->mutable_graph()->add_output(), wire.name(), wire.shape(), type);
}

void GraphBuilder::enter(std::string prefix) {
  prefix_ = std::move(prefix);
}

std::string GraphBuilder::next_name(std::string_view op, std::string_view label) {
  if (!label.empty()) {
    return prefix_ + std::string(label);
  }
  const std::string stem = prefix_ + lower(op);
  return fmt::format("{}{}", stem, numbers_[stem]++);
}

onnx::ModelProto GraphBuilder::finish() {
  return std::move(*model_);
}

namespace {

/// Motion of a kernel along one axis. `pads` are both ends together.
struct Motion {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pads = 0;
  bool same_upper = false;
};

std::int64_t extent_after(std::int64_t extent, const Motion& motion) {
  if (motion.same_upper) {
    return (extent + motion.stride - 1) / motion.stride;
  }
  const std::int64_t reach = (motion.kernel - 1) * motion.dilation + 1;
  return (extent + motion.pads - reach) / motion.stride + 1;
}

NodeAttribute padding(bool same_upper, const Shape& pads) {
  return same_upper ? NodeAttribute{"auto_pad", std::string("SAME_UPPER")}
                    : NodeAttribute{"pads", pads};
}

Wire pool(GraphBuilder& builder, std::string_view op, const Wire& x, const Wire::Pool2d& window) {
  const Shape& in = x.shape();
  const Shape& pads = window.pads;
  Motion motion{.kernel = window.kernel, .stride = window.stride, .same_upper = window.same_upper};
  motion.pads = pads[0] + pads[2];
  const std::int64_t height = extent_after(in[2], motion);
  motion.pads = pads[1] + pads[3];
  return builder.node(op,
                      {x},
                      {in[0], in[1], height, extent_after(in[3], motion)},
                      {{"kernel_shape", Shape{window.kernel, window.kernel}},
                       padding(window.same_upper, pads),
                       {"strides", Shape{window.stride, window.stride}}});
}

}  // namespace

std::int64_t element_count(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    elements *= extent;
  }
  return elements;
}

Wire Wire::conv(const Wire::Conv2d& spec, std::string_view label) const {
  const std::string name = builder_->next_name("Conv", label);
  const std::int64_t channels = shape_[1];
  PLUMB_CHECK(channels % spec.group == 0);
  std::vector<Wire> inputs{
      *this,
      builder_->weight(name + "_weight",
                       {spec.filters, channels / spec.group, spec.kernel, spec.kernel})};
  if (spec.bias) {
    inputs.push_back(builder_->weight(name + "_bias", {spec.filters}));
  }
  const Motion motion{.kernel = spec.kernel,
                      .stride = spec.stride,
                      .dilation = spec.dilation,
                      .pads = 2 * spec.pad,
                      .same_upper = spec.same_upper};
  return builder_->node(
      "Conv",
      inputs,
      {shape_[0], spec.filters, extent_after(shape_[2], motion), extent_after(shape_[3], motion)},
      {{"dilations", Shape{spec.dilation, spec.dilation}},
       {"group", spec.group},
       {"kernel_shape", Shape{spec.kernel, spec.kernel}},
       padding(spec.same_upper, Shape(4, spec.pad)),
       {"strides", Shape{spec.stride, spec.stride}}},
      name);
}

Wire Wire::batch_norm(float epsilon, float momentum) const {
  const std::string name = builder_->next_name("BatchNorm", {});
  const Shape per_channel{shape_[1]};
  std::vector<NodeAttribute> attributes{{"epsilon", epsilon}, {"momentum", momentum}};
  if (builder_->opset() < 9) {
    attributes.emplace_back("spatial", std::int64_t{1});
  }
  return builder_->node("BatchNormalization",
                        {*this,
                         builder_->weight(name + "_gamma", per_channel),
                         builder_->weight(name + "_beta", per_channel),
                         builder_->weight(name + "_running_mean", per_channel),
                         builder_->weight(name + "_running_var", per_channel)},
                        shape_,
                        attributes,
                        name);
}

Wire Wire::relu() const {
  return builder_->node("Relu", {*this}, shape_);
}

Wire Wire::leaky_relu(float alpha) const {
  return builder_->node("LeakyRelu", {*this}, shape_, {{"alpha", alpha}});
}

Wire Wire::prelu(const Wire& slope) const {
  return builder_->node("PRelu", {*this, slope}, shape_);
}

Wire Wire::max_pool(const Wire::Pool2d& window) const {
  return pool(*builder_, "MaxPool", *this, window);
}

Wire Wire::average_pool(const Wire::Pool2d& window) const {
  return pool(*builder_, "AveragePool", *this, window);
}

Wire Wire::global_average_pool() const {
  return builder_->node("GlobalAveragePool", {*this}, {shape_[0], shape_[1], 1, 1});
}

Wire Wire::lrn(std::int64_t size, float alpha, float bias) const {
  return builder_->node(
      "LRN", {*this}, shape_, {{"alpha", alpha}, {"beta", 0.75F}, {"bias", bias}, {"size", size}});
}

Wire Wire::gemm(std::int64_t units, std::string_view label) const {
  const std::string name = builder_->next_name("Gemm", label);
  return builder_->node(
      "Gemm",
      {*this,
       builder_->weight(name + "_weight", {units, shape_[1]}),
       builder_->weight(name + "_bias", {units})},
      {shape_[0], units},
      {{"alpha", 1.0F}, {"beta", 1.0F}, {"transA", std::int64_t{0}}, {"transB", std::int64_t{1}}},
      name);
}

Wire Wire::matmul(const Wire& right, std::string_view label) const {
  PLUMB_CHECK(shape_.back() == right.shape()[right.shape().size() - 2]);
  Shape out = shape_;
  out.back() = right.shape().back();
  return builder_->node(
      "MatMul", {*this, right}, std::move(out), {}, builder_->next_name("MatMul", label));
}

Wire Wire::add(const Wire& right, std::string_view label) const {
  return builder_->node("Add", {*this, right}, shape_, {}, builder_->next_name("Add", label));
}

Wire Wire::sub(const Wire& right, std::string_view label) const {
  return builder_->node("Sub", {*this, right}, shape_, {}, builder_->next_name("Sub", label));
}

Wire Wire::mul(const Wire& right, std::string_view label) const {
  return builder_->node("Mul", {*this, right}, shape_, {}, builder_->next_name("Mul", label));
}

Wire Wire::div(const Wire& right, std::string_view label) const {
  return builder_->node("Div", {*this, right}, shape_, {}, builder_->next_name("Div", label));
}

Wire Wire::sum(const std::vector<Wire>& others) const {
  std::vector<Wire> operands{*this};
  operands.insert(operands.end(), others.begin(), others.end());
  return builder_->node("Sum", operands, shape_);
}

Wire Wire::identity() const {
  return builder_->node("Identity", {*this}, shape_);
}

Wire Wire::flatten() const {
  return builder_->node("Flatten", {*this}, {shape_[0], element_count(shape_) / shape_[0]});
}

Wire Wire::reshape(const Shape& target) const {
  Shape out = target;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0) {
      out[i] = shape_[i];
    }
    known *= out[i] == -1 ? 1 : out[i];
  }
  for (std::int64_t& extent : out) {
    extent = extent == -1 ? element_count(shape_) / known : extent;
  }
  PLUMB_CHECK(element_count(out) == element_count(shape_));
  const std::string name = builder_->next_name("Reshape", {});
  const auto rank = static_cast<std::int64_t>(target.size());
  const Wire shape = builder_->integers(name + "_shape", target, {rank});
  return builder_->node("Reshape", {*this, shape}, std::move(out), {}, name);
}

Wire Wire::transpose(const std::vector<std::int64_t>& permutation) const {
  Shape out;
  for (const std::int64_t axis : permutation) {
    out.push_back(shape_[static_cast<std::size_t>(axis)]);
  }
  return builder_->node("Transpose", {*this}, std::move(out), {{"perm", permutation}});
}

Wire Wire::unsqueeze(const std::vector<std::int64_t>& axes) const {
  Shape out = shape_;
  for (const std::int64_t axis : axes) {
    out.insert(out.begin() + axis, 1);
  }
  const std::string name = builder_->next_name("Unsqueeze", {});
  if (builder_->opset() < 13) {
    return builder_->node("Unsqueeze", {*this}, std::move(out), {{"axes", axes}}, name);
  }
  const auto count = static_cast<std::int64_t>(axes.size());
  const Wire list = builder_->integers(name + "_axes", axes, {count});
  return builder_->node("Unsqueeze", {*this, list}, std::move(out), {}, name);
}

Wire Wire::dropout(float ratio) const {
  return builder_->node("Dropout", {*this}, shape_, {{"ratio", ratio}});
}

Wire Wire::dropout_with_mask(float ratio) const {
  return builder_->node("Dropout", {*this}, shape_, {{"ratio", ratio}}, {}, {"_mask"});
}

Wire Wire::softmax(std::int64_t axis) const {
  return builder_->node("Softmax", {*this}, shape_, {{"axis", axis}});
}

}  // namespace plumb::zoo
