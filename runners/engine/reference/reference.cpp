// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/reference.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "harness/base/error.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/operators.hpp"
#include "runners/engine/reference/quantization.hpp"

namespace plumb::engine {
namespace {

/// Reference function of one operator. It computes one output, moves bytes, or computes several
/// outputs.
struct Row {
  std::string_view op;
  std::size_t inputs;  ///< that must be given
  reference::Numbers (*compute)(const model::LayerSpec&, reference::Operands);
  std::vector<model::Tensor> (*move)(const model::LayerSpec&, reference::Tensors) = nullptr;
  std::vector<reference::Numbers> (*several)(const model::LayerSpec&,
                                             reference::Operands) = nullptr;
};

constexpr std::array kTable = std::to_array<Row>({
    {"conv", 2, reference::convolution},
    {"conv_transpose", 2, reference::convolution_transpose},
    {"gemm", 2, reference::general_matrix_product},
    {"matmul", 2, reference::batched_matrix_product},
    {"batch_norm", 5, reference::batch_normalization},
    {"layer_norm", 2, reference::layer_normalization},
    {"rms_norm", 2, reference::rms_normalization},
    {"instance_norm", 3, reference::instance_normalization},
    {"group_norm", 3, reference::group_normalization},
    {"lrn", 1, reference::local_response_normalization},
    {"max_pool", 1, reference::max_pooling},
    {"average_pool", 1, reference::average_pooling},
    {"lp_pool", 1, reference::lp_pooling},
    {"eltwise", 1, reference::elementwise},
    {"prelu", 2, reference::parametric_relu},
    {"binary", 2, reference::binary},
    {"sum", 1, reference::sum},
    {"softmax", 1, reference::softmax},
    {"concat", 1, nullptr, reference::concat},
    {"split", 1, nullptr, reference::split},
    {"slice", 1, nullptr, reference::slice},
    {"pad", 1, nullptr, reference::pad},
    {"transpose", 1, nullptr, reference::transpose},
    {"view", 1, nullptr, reference::view},
    {"gather", 2, nullptr, reference::gather},
    {"resize", 1, reference::resize},
    {"reduce", 1, reference::reduce},
    {"arg_reduce", 1, reference::arg_reduce},
    {"where", 3, nullptr, reference::where},
    {"cast", 1, reference::cast},
    {"expand", 1, nullptr, reference::expand},
    {"tile", 1, nullptr, reference::tile},
    {"depth_to_space", 1, nullptr, reference::depth_to_space},
    {"space_to_depth", 1, nullptr, reference::space_to_depth},
    {"attention", 3, nullptr, nullptr, reference::attention},
    {"matmul_integer", 2, reference::integer_matrix_product},
    {"conv_integer", 2, reference::integer_convolution},
    {"quantize", 2, reference::quantize},
    {"dequantize", 2, reference::dequantize},
    {"max", 3, reference::extreme},
    {"min", 3, reference::extreme},
    {"rnn", 3, nullptr, nullptr, reference::recurrent},
    {"gru", 3, nullptr, nullptr, reference::recurrent},
    {"lstm", 3, nullptr, nullptr, reference::recurrent},
    {"conv_backward_data", 2, reference::convolution_data_gradient},
    {"conv_backward_weights", 2, nullptr, nullptr, reference::convolution_weights_gradient},
    {"gemm_bias_gradient", 2, nullptr, nullptr, reference::product_and_bias_gradient},
    {"eltwise_backward", 2, reference::elementwise_gradient},
    {"softmax_backward", 2, reference::softmax_gradient},
    {"batch_norm_training", 3, nullptr, nullptr, reference::batch_normalization_of_batch},
    {"batch_norm_backward", 5, nullptr, nullptr, reference::batch_normalization_gradient},
    {"layer_norm_backward", 5, nullptr, nullptr, reference::layer_normalization_gradient},
    {"attention_backward", 6, nullptr, nullptr, reference::attention_gradient},
    {"max_pool_backward", 2, reference::max_pooling_gradient},
    {"gather_backward", 2, reference::gather_gradient},
    {"average_pool_backward", 1, reference::average_pooling_gradient},
    {"sgd", 2, nullptr, nullptr, reference::updated_weights},
    {"adam", 5, nullptr, nullptr, reference::updated_weights},
    {"lamb", 5, nullptr, nullptr, reference::updated_weights},
    {"loss_scale", 3, nullptr, nullptr, reference::adapted_loss_scale},
});

const Row* find_row(std::string_view op) {
  for (const Row& row : kTable) {
    if (row.op == op) {
      return &row;
    }
  }
  return nullptr;
}

void apply(const reference::EpilogueChain& epilogue, std::vector<double>& values) {
  for (std::size_t i = 0; !epilogue.empty() && i < values.size(); ++i) {
    values[i] = epilogue(values[i], i);
  }
}

}  // namespace

results::Outcome reference_support(const model::LayerSpec& spec) {
  const auto unsupported = [](std::string reason) {
    return results::Outcome{results::Outcome::Kind::kUnsupported, std::move(reason)};
  };
  const Row* row = find_row(spec.op);
  if (row == nullptr) {
    return unsupported(fmt::format("operator {} has no reference", spec.op));
  }
  for (std::size_t i = 0; i < row->inputs; ++i) {
    if (!spec.has_input(i)) {
      return unsupported(fmt::format("operand {} of a {} layer is missing", i, spec.op));
    }
  }
  if (spec.outputs.empty() || (spec.outputs.size() > 1 && row->compute != nullptr)) {
    return unsupported(
        fmt::format("a {} layer with {} outputs has no reference", spec.op, spec.outputs.size()));
  }
  std::vector<model::TensorType> types = spec.outputs;
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    if (input) {
      types.push_back(*input);
    }
  }
  for (const model::TensorType& type : types) {
    if (!is_number(type.dtype)) {
      return unsupported(fmt::format("type {} has no reference", to_text(type.dtype)));
    }
  }
  return {};
}

void check_reference_operands(const model::LayerSpec& spec,
                              std::span<const model::Tensor> operands) {
  const results::Outcome support = reference_support(spec);
  if (!support.ok()) {
    throw Error(Error::Kind::kUser, support.reason);
  }
  reference::require(
      operands.size() == spec.inputs.size(), spec, "operands are missing or too many");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (spec.has_input(i)) {
      reference::require(operands[i].type.dtype == spec.inputs[i]->dtype &&
                             operands[i].type.dims == spec.inputs[i]->dims &&
                             operands[i].data.size() ==
                                 static_cast<std::size_t>(model::byte_size(*spec.inputs[i]).value),
                         spec,
                         "an operand has another type, shape or size than the key says");
    }
  }
}

std::vector<model::Tensor> reference_outputs(const model::LayerSpec& spec,
                                             std::span<const model::Tensor> operands) {
  check_reference_operands(spec, operands);
  const reference::EpilogueChain epilogue(spec, operands);
  const model::LayerSpec own = reference::without_epilogue(spec);
  const Row& row = *find_row(spec.op);
  if (row.move != nullptr) {
    std::vector<model::Tensor> outputs = row.move(own, operands.first(own.inputs.size()));
    if (!epilogue.empty()) {
      std::vector<double> values = read_numbers(outputs[0]);
      apply(epilogue, values);
      outputs[0] = tensor_from(spec.outputs[0], values);
    }
    return outputs;
  }
  const std::vector<reference::Numbers> numbers = reference::numbers_of_operands(own, operands);
  std::vector<reference::Numbers> results;
  if (row.several != nullptr) {
    results = row.several(own, numbers);
  } else {
    results.push_back(row.compute(own, numbers));
  }
  apply(epilogue, results[0].values);
  if (spec.op == "gemm_bias_gradient" && spec.text("of") == "y") {
    reference::add_up_columns(results[0], results.at(1));
  }
  std::vector<model::Tensor> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(tensor_from(spec.outputs[i], results[i].values));
  }
  return outputs;
}

}  // namespace plumb::engine
