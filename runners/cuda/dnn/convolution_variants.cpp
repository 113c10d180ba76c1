// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/builtin/integer_variants.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kBias = 2;

/// Translation of one layer into its graph, step by step.
class Translation {
 public:
  Translation(const model::LayerSpec& spec, TensorLayout layout)
      : spec_(spec),
        layout_(layout),
        of_integers_(spec.op == "conv_integer"),
        is_one_dimensional_(operand(0).dims.size() == 3) {}

  TensorGraph run() {
    const model::TensorType& input = operand(0);
    const model::TensorType& output = spec_.outputs.at(0);
    check_types();
    if (spec_.outputs.size() > 1) {
      throw Unsupported("the bias' gradient beside the weights'");
    }
    check_rank();
    TensorGraph::Convolution operation;
    const std::size_t left = add(input.dtype, input.dims, 0);
    const std::size_t right = add(operand(1).dtype, operand(1).dims, 1);
    last_ = add(output.dtype, output.dims, std::nullopt);
    operation.compute =
        of_integers_ ? abi::CudnnCalls::Type::kInt32 : abi::CudnnCalls::Type::kFloat;
    operation.strides = spatial("strides", 1);
    operation.dilations = spatial("dilations", 1);
    read_pads(operation);
    place(operation, left, right);
    if (spec_.op == "conv_transpose") {
      take_from_pads(operation, spatial("output_padding", 0));
    }
    graph_.operations.emplace_back(std::move(operation));
    of_integers_ ? add_integer_steps() : add_steps();
    return std::move(graph_);
  }

  TensorGraph run_pool() {
    const model::TensorType& output = spec_.outputs.at(0);
    const Dimensions& dilations = spec_.integers("dilations");
    if (spec_.outputs.size() > 1 || !spec_.epilogue.empty()) {
      throw Unsupported("a pool that gives positions or has fused steps");
    }
    if (operand(0).dtype != output.dtype ||
        std::any_of(dilations.begin(), dilations.end(), [](auto one) { return one != 1; })) {
      throw Unsupported("a pool with dilations or into another type");
    }
    check_rank();
    TensorGraph::Resample operation;
    if (spec_.op == "average_pool") {
      operation.mode = spec_.integer("count_include_pad") != 0
                           ? abi::CudnnCalls::ResampleMode::kAverageWithPads
                           : abi::CudnnCalls::ResampleMode::kAverageWithoutPads;
    }
    operation.input = add(operand(0).dtype, operand(0).dims, 0);
    operation.output = add(output.dtype, output.dims, std::nullopt);
    operation.window = spatial("kernel", 1);
    operation.strides = spatial("strides", 1);
    read_pads(operation);
    graph_.operations.emplace_back(std::move(operation));
    return std::move(graph_);
  }

 private:
  void check_rank() const {
    if (operand(0).dims.size() < 3 || operand(0).dims.size() > 5) {
      throw Unsupported(fmt::format("an input of rank {}", operand(0).dims.size()));
    }
  }

  void check_types() const {
    const model::DataType x = operand(0).dtype;
    if (!of_integers_) {
      if (x != operand(1).dtype || x != spec_.outputs.at(0).dtype) {
        throw Unsupported("input, weights and output are of different types");
      }
      return;
    }
    const model::QuantizedProduct at = model::quantized_product(spec_);
    if (x != model::DataType::kS8 || operand(1).dtype != model::DataType::kS8) {
      throw Unsupported("cuDNN convolves s8 with s8");
    }
    for (const std::size_t zero : {at.x_zero_point, at.w_zero_point, at.y_zero_point}) {
      if (spec_.has_input(zero)) {
        throw Unsupported("cuDNN convolves integers without zero points");
      }
    }
    if (spec_.has_input(kBias) && !model::is_floating(operand(kBias).dtype)) {
      throw Unsupported("a bias of integers in cuDNN's graph");
    }
    if (spec_.outputs.at(0).dtype == model::DataType::kS32 && !spec_.epilogue.empty()) {
      throw Unsupported("fused steps in whole numbers");
    }
  }

  [[nodiscard]] abi::CudnnCalls::Type graph_type(model::DataType type) const {
    if (of_integers_ && type == model::DataType::kS8) {
      return abi::CudnnCalls::Type::kInt8;
    }
    return of_integers_ && type == model::DataType::kS32 ? abi::CudnnCalls::Type::kInt32
                                                         : cudnn_type(type);
  }

  /// Assigns the operands and the result to the convolution's image, weights and grid. Also sets
  /// its direction.
  void place(TensorGraph::Convolution& operation, std::size_t left, std::size_t right) const {
    using Direction = TensorGraph::Convolution::Direction;
    if (spec_.op == "conv_backward_weights") {
      operation.direction = Direction::kBackwardWeights;
      operation.grid = left;
      operation.image = right;
      operation.weights = last_;
      return;
    }
    const bool forward = spec_.op == "conv" || of_integers_;
    operation.direction = forward ? Direction::kForward : Direction::kBackwardData;
    operation.image = forward ? left : last_;
    operation.weights = right;
    operation.grid = forward ? last_ : left;
  }

  const model::TensorType& operand(std::size_t index) const {
    if (!spec_.has_input(index)) {
      throw Unsupported(fmt::format("operand {} is missing", index));
    }
    if (!spec_.inputs[index]->strides.empty()) {
      throw Unsupported(fmt::format("operand {} is not dense", index));
    }
    return *spec_.inputs[index];
  }

  std::size_t add(model::DataType type,
                  Dimensions dimensions,
                  std::optional<std::size_t> operand_index) {
    if (is_one_dimensional_) {
      dimensions.insert(dimensions.begin() + 2, 1);
    }
    TensorGraph::Tensor& tensor = graph_.tensors.emplace_back();
    tensor.type = graph_type(type);
    tensor.operand = operand_index;
    tensor.strides = compute_strides(dimensions, layout_);
    tensor.dimensions = std::move(dimensions);
    return graph_.tensors.size() - 1;
  }

  Dimensions spatial(const char* name, std::int64_t of_missing_axis) const {
    Dimensions values = spec_.integers(name);
    if (is_one_dimensional_) {
      values.insert(values.begin(), of_missing_axis);
    }
    return values;
  }

  void read_pads(auto& operation) const {
    const Dimensions& pads = spec_.integers("pads");
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
    operation.pads_before.assign(pads.begin(), middle);
    operation.pads_after.assign(middle, pads.end());
    if (is_one_dimensional_) {
      operation.pads_before.insert(operation.pads_before.begin(), 0);
      operation.pads_after.insert(operation.pads_after.begin(), 0);
    }
  }

  /// Takes what `output_padding` has beyond one stride from the pads at the end. Below one stride,
  /// the output's extent says it. Beyond, cuDNN would count another position of the filter, so less
  /// padding at the end must leave those rows.
  static void take_from_pads(TensorGraph::Convolution& operation,
                             const Dimensions& output_padding) {
    for (std::size_t axis = 0; axis < output_padding.size(); ++axis) {
      const std::int64_t beyond =
          std::max<std::int64_t>(output_padding[axis] - (operation.strides[axis] - 1), 0);
      operation.pads_after[axis] -= beyond;
      if (operation.pads_after[axis] < 0) {
        throw Unsupported(fmt::format(
            "output_padding {} with stride {}: cuDNN's convolutions have no such output",
            output_padding[axis],
            operation.strides[axis]));
      }
    }
  }

  /// Appends a step. The former result is now an intermediate, as exact as the sum.
  TensorGraph::Pointwise& append(abi::CudnnCalls::PointwiseMode mode) {
    TensorGraph::Tensor output = graph_.tensors[last_];
    graph_.tensors[last_].is_virtual = true;
    const bool sums = of_integers_ && graph_.operations.size() == 1;
    graph_.tensors[last_].type =
        sums ? abi::CudnnCalls::Type::kInt32 : abi::CudnnCalls::Type::kFloat;
    graph_.tensors.push_back(std::move(output));
    TensorGraph::Pointwise step;
    step.mode = mode;
    step.input = last_;
    step.output = graph_.tensors.size() - 1;
    last_ = step.output;
    return std::get<TensorGraph::Pointwise>(graph_.operations.emplace_back(step));
  }

  void add_steps() {
    auto step = spec_.epilogue.begin();
    if (spec_.has_input(2)) {
      if (step != spec_.epilogue.end() && step->fn == "add") {
        append_binary(*step++);
      }
      append_of_channels(abi::CudnnCalls::PointwiseMode::kAdd, kBias);
    }
    for (; step != spec_.epilogue.end(); ++step) {
      step->operand ? append_binary(*step) : append_activation(*step);
    }
  }

  /// Adds the steps on an integer product's sums, up to the scale of the result. cuDNN rounds as it
  /// stores.
  void add_integer_steps() {
    const model::QuantizedProduct at = model::quantized_product(spec_);
    if (spec_.has_input(at.w_scale)) {
      append_of_channels(abi::CudnnCalls::PointwiseMode::kMultiply, at.x_scale);
      append_of_channels(abi::CudnnCalls::PointwiseMode::kMultiply, at.w_scale);
    }
    if (spec_.has_input(kBias)) {
      append_of_channels(abi::CudnnCalls::PointwiseMode::kAdd, kBias);
    }
    for (const model::Epilogue& step : spec_.epilogue) {
      step.operand ? append_binary(step) : append_activation(step);
    }
    if (spec_.has_input(at.y_scale)) {
      append_of_channels(abi::CudnnCalls::PointwiseMode::kDivide, at.y_scale);
    }
  }

  /// Appends a step whose operand has one number, or one for each channel.
  void append_of_channels(abi::CudnnCalls::PointwiseMode mode, std::size_t index) {
    Dimensions shape(spec_.outputs[0].dims.size(), 1);
    if (element_count(operand(index)) > 1) {
      shape[1] = spec_.outputs[0].dims[1];
    }
    const std::size_t tensor = add(operand(index).dtype, std::move(shape), index);
    append(mode).operand = tensor;
  }

  void append_binary(const model::Epilogue& step) {
    const bool product = step.fn == "mul";
    if ((!product && step.fn != "add") || !step.operand) {
      throw Unsupported(fmt::format("the fused step '{}' is not one of cuDNN's", step.fn));
    }
    const model::TensorType& other = operand(*step.operand);
    if (other.dims.size() != spec_.outputs[0].dims.size()) {
      throw Unsupported(fmt::format(
          "operand {} of the fused '{}' has rank {}", *step.operand, step.fn, other.dims.size()));
    }
    const std::size_t operand_index = add(other.dtype, other.dims, *step.operand);
    append(product ? abi::CudnnCalls::PointwiseMode::kMultiply
                   : abi::CudnnCalls::PointwiseMode::kAdd)
        .operand = operand_index;
  }

  void append_activation(const model::Epilogue& step) {
    using Mode = abi::CudnnCalls::PointwiseMode;
    const auto parameter = [&](std::size_t index) { return step.parameters.at(index); };
    if (step.fn == "relu") {
      append(Mode::kRelu);
    } else if (step.fn == "leaky_relu") {
      append(Mode::kRelu).lower_clip_slope = parameter(0);
    } else if (step.fn == "clip" && parameter(0) == 0.0) {
      append(Mode::kRelu).upper_clip = parameter(1);
    } else if (step.fn == "elu") {
      append(Mode::kElu).elu_alpha = parameter(0);
    } else if (step.fn == "sigmoid") {
      append(Mode::kSigmoid);
    } else if (step.fn == "tanh") {
      append(Mode::kTanh);
    } else if (step.fn == "softplus") {
      append(Mode::kSoftplus);
    } else if (step.fn == "silu") {
      append(Mode::kSwish);
    } else if (step.fn == "gelu_erf") {
      append(Mode::kGelu);
    } else if (step.fn == "gelu_tanh") {
      append(Mode::kGeluTanh);
    } else {
      throw Unsupported(
          fmt::format("the fused activation '{}' is not a single operation of cuDNN", step.fn));
    }
  }

  const model::LayerSpec& spec_;
  TensorLayout layout_;
  bool of_integers_;
  bool is_one_dimensional_;
  TensorGraph graph_;
  std::size_t last_ = 0;
};

}  // namespace

TensorGraph convolution_graph(const model::LayerSpec& spec, TensorLayout layout) {
  if (spec.op != "conv" && spec.op != "conv_integer" && spec.op != "conv_transpose" &&
      !model::is_convolution_gradient(spec)) {
    throw Unsupported(
        fmt::format("cuDNN is asked about convolutions, products, attention, normalisations and "
                    "pools, not about "
                    "'{}'",
                    spec.op));
  }
  return Translation(spec, layout).run();
}

TensorGraph pool_graph(const model::LayerSpec& spec, TensorLayout layout) {
  if (spec.op != "max_pool" && spec.op != "average_pool") {
    throw Unsupported(fmt::format("cuDNN's pools have no '{}'", spec.op));
  }
  return Translation(spec, layout).run_pool();
}

namespace {

constexpr std::array kLayouts{TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast};
constexpr std::array kLayoutsOfIntegers{kLayouts[1], kLayouts[0]};

/// Adds cuDNN's variants of each form. Returns why the last form that was refused has none; empty:
/// no form was refused.
std::string add_builders(std::vector<VariantBuilder>& builders,
                         const model::LayerSpec& spec,
                         bool apart,
                         CudnnLibrary::Handle& handle,
                         const KernelStep& kernel) {
  std::string refusal;
  try {
    for (GraphForm& form : convolution_forms(spec, apart)) {
      try {
        std::vector<VariantBuilder> more = graph_variants(spec, std::move(form), handle, kernel);
        std::move(more.begin(), more.end(), std::back_inserter(builders));
      } catch (const CudnnLibrary::Refusal& words) {
        refusal = fmt::format("cuDNN: {}", words.what());
      }
    }
  } catch (const Unsupported& reason) {
    refusal = reason.what();
  }
  return refusal;
}

}  // namespace

std::vector<GraphForm> convolution_forms(const model::LayerSpec& spec, bool apart) {
  const BuiltinLayer::Split split = apart ? split_layer(spec) : BuiltinLayer::Split{spec, {}};
  std::vector<GraphForm> forms;
  forms.reserve(kLayouts.size());
  for (const TensorLayout layout :
       model::is_integer_product(spec) ? kLayoutsOfIntegers : kLayouts) {
    forms.push_back({fmt::format("layout={}{}", to_text(layout), apart ? ";steps=apart" : ""),
                     convolution_graph(split.alone, layout),
                     input_layouts(spec, split.behind, layout),
                     layout,
                     split.behind});
  }
  return forms;
}

std::vector<VariantBuilder> integer_convolution_offers(const model::LayerSpec& spec,
                                                       CudnnLibrary::Handle& handle,
                                                       const KernelStep& kernel) {
  std::vector<VariantBuilder> builders;
  std::string refusal;
  try {
    builders = integer_variants(
        spec,
        [&](const model::LayerSpec& product) {
          return convolution_variants(product, handle, kernel);
        },
        kernel);
  } catch (const Unsupported& reason) {
    refusal = reason.what();
  }
  if (spec.outputs.at(0).dtype != model::DataType::kS32) {
    std::vector<VariantBuilder> fused;
    const std::string other = add_builders(fused, spec, false, handle, kernel);
    refusal = refusal.empty() ? other : refusal;
    // How cuDNN rounds as it stores integers is documented nowhere, so it is not the first choice.
    builders.insert(model::rounds_to_integers(spec) ? builders.end() : builders.begin(),
                    std::make_move_iterator(fused.begin()),
                    std::make_move_iterator(fused.end()));
  }
  if (builders.empty()) {
    throw Unsupported(refusal);
  }
  return builders;
}

std::vector<VariantBuilder> convolution_variants(const model::LayerSpec& spec,
                                                 CudnnLibrary::Handle& handle,
                                                 const KernelStep& kernel) {
  std::vector<VariantBuilder> builders;
  std::string refusal = add_builders(builders, spec, false, handle, kernel);
  const bool has_steps = spec.has_input(2) || !spec.epilogue.empty() || spec.outputs.size() > 1;
  if (has_steps && (builders.empty() || spec.op == "conv_transpose")) {
    const std::string other = add_builders(builders, spec, true, handle, kernel);
    refusal = refusal.empty() ? other : refusal;
  }
  if (builders.empty()) {
    throw Unsupported(refusal.empty() ? "cuDNN: no engine has the layer's promised precision"
                                      : refusal);
  }
  return builders;
}

}  // namespace plumb::cuda
