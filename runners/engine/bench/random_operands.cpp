// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/random_operands.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/operator_families.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/random_stream.hpp"

namespace plumb::engine {
namespace {

/// Ranges of the numbers of an operand.
enum class Role {
  kSigned,    ///< ±[1/8, 1)
  kWide,      ///< ±[1, 8): activations saturate in this range
  kPositive,  ///< [1/2, 3/2)
  kNearOne,   ///< [0.95, 1.05): long products stay in range
  kFew,       ///< few different numbers, so that some are equal
  kIndex,     ///< [0, extent)
  kFlag,      ///< 0 or 1
  kBits,      ///< eight flags a byte
  kMask,      ///< 1 for the first key, mostly 1 for the others: no query without a key
};

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  for (const std::string_view candidate : words) {
    if (word == candidate) {
      return true;
    }
  }
  return false;
}

Role role_of_eltwise(const std::string& fn) {
  if (is_any_of(fn, {"log", "sqrt"})) {
    return Role::kPositive;
  }
  return is_any_of(fn, {"exp", "reciprocal", "sin", "cos"}) ? Role::kSigned : Role::kWide;
}

Role role_of_binary(const std::string& fn, std::size_t operand) {
  if (is_any_of(fn, {"equal", "greater", "less", "greater_equal", "less_equal"})) {
    return Role::kFew;
  }
  return fn == "pow" && operand == 0 ? Role::kPositive : Role::kSigned;
}

bool reads_bits(const model::LayerSpec& spec, std::size_t operand) {
  return std::any_of(spec.epilogue.begin(), spec.epilogue.end(), [&](const model::Epilogue& step) {
    return step.fn == model::kBitMask && step.operand == operand;
  });
}

bool is_unsigned(model::DataType type) {
  return type == model::DataType::kU8 || type == model::DataType::kU16 ||
         type == model::DataType::kU32 || type == model::DataType::kU64;
}

bool is_scale(const model::LayerSpec& spec, std::size_t operand) {
  if (spec.op == "quantize" || spec.op == "dequantize") {
    return operand == 1;
  }
  if (!model::is_integer_product(spec)) {
    return false;
  }
  const model::QuantizedProduct at = model::quantized_product(spec);
  return operand == at.x_scale || operand == at.w_scale || operand == at.y_scale;
}

Role role_of(const model::LayerSpec& spec, std::size_t operand) {
  if (spec.inputs[operand]->dtype == model::DataType::kBool) {
    return spec.op == "attention" ? Role::kMask : Role::kFlag;
  }
  if (spec.op == "eltwise") {
    return operand == 0 ? role_of_eltwise(spec.text("fn")) : Role::kSigned;
  }
  if (spec.op == "binary") {
    return role_of_binary(spec.text("fn"), operand);
  }
  if ((spec.op == "batch_norm" || spec.op == "batch_norm_backward" ||
       spec.op == "layer_norm_backward") &&
      operand == 4) {
    return Role::kPositive;
  }
  if (spec.op == "adam" || spec.op == "lamb") {  // the second moment and the steps
    constexpr std::size_t kOperands = 5;
    return operand % kOperands >= 3 ? Role::kPositive : Role::kSigned;
  }
  if (spec.op == "eltwise_backward" && operand == 1) {
    return role_of_eltwise(spec.text("fn"));
  }
  if (reads_bits(spec, operand)) {
    return Role::kBits;
  }
  if (spec.op == "reduce" && operand == 0) {
    const std::string& fn = spec.text("fn");
    return fn == "prod" ? Role::kNearOne : (fn == "log_sum" ? Role::kPositive : Role::kSigned);
  }
  if (is_scale(spec, operand)) {
    return Role::kPositive;
  }
  if (spec.op == "quantize" && operand == 0) {
    return Role::kWide;
  }
  if ((spec.op == "gather" || spec.op == "gather_backward") && operand == 1) {
    return Role::kIndex;
  }
  if (spec.op == "where" && operand == 0) {
    return Role::kFlag;
  }
  if (spec.op == "cast") {
    // A negative number has no defined conversion to an unsigned type.
    return model::is_floating(spec.outputs[0].dtype) ? Role::kWide : Role::kPositive;
  }
  return Role::kSigned;
}

double integer(const OperandNumbers& numbers, std::uint64_t bits) {
  const auto magnitude = static_cast<double>(1U + bits % numbers.largest);
  return numbers.either_sign && (bits & 4U) != 0 ? -magnitude : magnitude;
}

double real(const OperandNumbers& numbers, std::uint64_t bits) {
  const double unit = static_cast<double>(bits >> 40U) * 0x1p-24;  // exact in float
  const double sign = numbers.either_sign ? 1.0 - 2.0 * static_cast<double>(bits & 1U) : 1.0;
  return numbers.scale * (sign * (numbers.low + numbers.span * unit));
}

double one_of_few(std::uint64_t bits) {
  const double sign = 1.0 - 2.0 * static_cast<double>(bits & 1U);
  return sign * (0.5 + 0.5 * static_cast<double>((bits >> 1U) & 1U));
}

/// Returns the scale with which results neither saturate nor vanish on their grid.
double grid_step(const model::LayerSpec& spec, std::size_t operand) {
  if (spec.op == "quantize") {
    return 1.0 / 16.0;  // of numbers up to 8
  }
  if (!model::is_integer_product(spec) || operand != model::quantized_product(spec).y_scale) {
    return 1.0;
  }
  // A sum of K products of signed numbers deviates by √K times their root mean squares.
  const auto root_mean_square = [&](std::size_t index) {
    return is_unsigned(spec.inputs[index]->dtype) ? 148.0 : 74.0;
  };
  const auto terms = static_cast<double>(std::max<std::int64_t>(1, reduction_length(spec)));
  return std::sqrt(terms) * root_mean_square(0) * root_mean_square(1) / 40.0;
}

/// Returns the factor of an operand's numbers, which keeps recurrences in range over thousands of
/// steps.
///
/// The spectral norm of a random r stays below 1: it is about twice the deviation of an entry, 0.6,
/// times √hidden. Sums of w·x stay near 1, where gates are not saturated.
double compute_scale(const model::LayerSpec& spec, std::size_t operand) {
  if (is_scale(spec, operand)) {
    return grid_step(spec, operand);
  }
  if (!model::is_recurrent(spec) || (operand != 1 && operand != 2)) {
    return 1.0;
  }
  const model::RecurrentShape shape = model::recurrent_shape(spec);
  const auto terms = static_cast<double>(operand == 1 ? shape.input : 4 * shape.hidden);
  return 1.0 / std::sqrt(std::max(terms, 1.0));
}

std::uint64_t index_bound(const model::LayerSpec& spec) {
  const std::vector<std::int64_t>& x =
      spec.op == "gather" ? spec.inputs[0]->dims : spec.outputs[0].dims;
  const auto axis = static_cast<std::size_t>(spec.integer("axis"));
  return axis < x.size() ? static_cast<std::uint64_t>(x[axis]) : 0;
}

model::Tensor random_operand(const model::LayerSpec& spec,
                             std::size_t operand,
                             const RandomStream& random) {
  const model::TensorType& type = *spec.inputs[operand];
  const Role role = role_of(spec, operand);
  const std::uint64_t bound =
      role == Role::kIndex ? index_bound(spec) : (role == Role::kBits ? 256 : 2);
  const std::optional<OperandNumbers> numbers = operand_numbers(spec, operand);
  const auto count = static_cast<std::size_t>(element_count(type));
  model::Tensor tensor{
      type, std::vector<std::byte>(static_cast<std::size_t>(model::byte_size(type).value))};
  // Written in pieces, so that weights of a hundred million numbers need no second copy as doubles.
  std::vector<double> piece(std::min<std::size_t>(count, 4096));
  for (std::size_t first = 0; first < count; first += piece.size()) {
    piece.resize(std::min(piece.size(), count - first));
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const std::size_t at = first + i;
      if (role == Role::kMask) {
        const auto keys = static_cast<std::size_t>(type.dims.back());
        piece[i] = at % keys == 0 || random.below(at, 4) != 0 ? 1.0 : 0.0;
      } else if (role == Role::kIndex || role == Role::kFlag || role == Role::kBits) {
        piece[i] = static_cast<double>(random.below(at, bound));
      } else if (!numbers) {
        piece[i] = role == Role::kFew ? one_of_few(random.bits(at)) : 1.0;
      } else {
        piece[i] = numbers->whole ? integer(*numbers, random.bits(at) >> 8U)
                                  : real(*numbers, random.bits(at));
      }
    }
    write_numbers(tensor, first, piece);
  }
  return tensor;
}

}  // namespace

std::optional<OperandNumbers> operand_numbers(const model::LayerSpec& spec, std::size_t operand) {
  const Role role = role_of(spec, operand);
  const model::DataType type = spec.inputs.at(operand).value().dtype;
  const double scale = compute_scale(spec, operand);
  if (role == Role::kIndex || role == Role::kFlag || role == Role::kMask || role == Role::kBits) {
    return std::nullopt;
  }
  if (!model::is_floating(type)) {
    OperandNumbers numbers{.whole = true};
    numbers.either_sign = role != Role::kPositive && !is_unsigned(type);
    if (model::is_integer_product(spec) && operand < 2) {
      // The whole range, so that an intermediate sum that saturates at 16 bits is noticed.
      numbers.largest = is_unsigned(type) ? 255 : 127;
    }
    return role == Role::kNearOne ? std::nullopt : std::optional(numbers);
  }
  switch (role) {
    case Role::kFew:
      return std::nullopt;
    case Role::kWide:
      return OperandNumbers{false, true, 1.0, 7.0, scale};
    case Role::kPositive:
      return OperandNumbers{false, false, 0.5, 1.0, scale};
    case Role::kNearOne:
      return OperandNumbers{false, false, 0.95, 0.1, scale};
    default:
      return OperandNumbers{false, true, 0.125, 0.875, scale};
  }
}

std::vector<model::Tensor> random_operands(const model::LayerSpec& spec, std::uint64_t seed) {
  std::vector<model::Tensor> operands;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    operands.push_back(spec.has_input(i) ? random_operand(spec, i, RandomStream(seed, i))
                                         : model::Tensor{});
  }
  return operands;
}

}  // namespace plumb::engine
