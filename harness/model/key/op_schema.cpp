// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/op_schema.hpp"

#include <limits>

namespace plumb::model {
namespace {

constexpr std::size_t kMany = std::numeric_limits<std::size_t>::max();
constexpr OpSchema::Attribute::Kind kInteger = OpSchema::Attribute::Kind::kInteger;
constexpr OpSchema::Attribute::Kind kReal = OpSchema::Attribute::Kind::kReal;
constexpr OpSchema::Attribute::Kind kWord = OpSchema::Attribute::Kind::kWord;
constexpr OpSchema::Attribute::Kind kIntegers = OpSchema::Attribute::Kind::kIntegers;
constexpr OpSchema::Attribute::Kind kReals = OpSchema::Attribute::Kind::kReals;

constexpr std::string_view kBinaryFunctions =
    "add|sub|mul|div|max|min|pow|mod|fmod|equal|greater|less|greater_equal|less_equal|and|or|xor";
constexpr std::string_view kReduceFunctions =
    "mean|sum|max|min|prod|l1|l2|sum_square|log_sum|log_sum_exp";
constexpr std::string_view kCoordinates =
    "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|"
    "tf_half_pixel_for_nn";
constexpr std::string_view kDirections = "forward|reverse|bidirectional";
constexpr std::string_view kBackward = "_backward";
constexpr std::string_view kNearestModes = "round_prefer_floor|round_prefer_ceil|floor|ceil";

// The vocabulary: operator, fewest and most inputs, most outputs, attributes in alphabetical order.
constexpr std::array kSchemas = std::to_array<OpSchema>({
    {"conv",
     2,
     3,
     1,
     {{{"dilations", kIntegers, {}},
       {"group", kInteger, {}},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    {"conv_transpose",
     2,
     3,
     1,
     {{{"dilations", kIntegers, {}},
       {"group", kInteger, {}},
       {"output_padding", kIntegers, {}},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    {"gemm",
     2,
     3,
     1,
     {{{"alpha", kReal, {}},
       {"beta", kReal, {}},
       {"trans_a", kInteger, {}},
       {"trans_b", kInteger, {}}}}},
    {"matmul", 2, 2, 1, {}},
    {"batch_norm", 5, 5, 1, {{{"epsilon", kReal, {}}, {"mode", kWord, "spatial|per_activation"}}}},
    {"layer_norm", 2, 3, 1, {{{"axis", kInteger, {}}, {"epsilon", kReal, {}}}}},
    {"rms_norm", 2, 2, 1, {{{"axis", kInteger, {}}, {"epsilon", kReal, {}}}}},
    {"instance_norm", 3, 3, 1, {{{"epsilon", kReal, {}}}}},
    {"group_norm", 3, 3, 1, {{{"epsilon", kReal, {}}, {"groups", kInteger, {}}}}},
    {"lrn",
     1,
     1,
     1,
     {{{"alpha", kReal, {}}, {"beta", kReal, {}}, {"bias", kReal, {}}, {"size", kInteger, {}}}}},
    {"max_pool",
     1,
     1,
     1,
     {{{"ceil_mode", kInteger, {}},
       {"dilations", kIntegers, {}},
       {"kernel", kIntegers, {}},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    {"average_pool",
     1,
     1,
     1,
     {{{"ceil_mode", kInteger, {}},
       {"count_include_pad", kInteger, {}},
       {"dilations", kIntegers, {}},
       {"kernel", kIntegers, {}},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    {"lp_pool",
     1,
     1,
     1,
     {{{"ceil_mode", kInteger, {}},
       {"dilations", kIntegers, {}},
       {"kernel", kIntegers, {}},
       {"p", kInteger, {}},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    {"eltwise", 1, 1, 1, {{{"fn", kWord, {}}, {"parameters", kReals, {}}}}},
    {"prelu", 2, 2, 1, {}},
    {"binary", 2, 2, 1, {{{"fn", kWord, kBinaryFunctions}}}},
    {"sum", 3, kMany, 1, {}},
    {"softmax",
     1,
     1,
     1,
     {{{"axis", kInteger, {}}, {"coerce", kInteger, {}}, {"log", kInteger, {}}}}},
    {"concat", 1, kMany, 1, {{{"axis", kInteger, {}}}}},
    {"split", 1, 1, kMany, {{{"axis", kInteger, {}}}}},
    {"slice",
     1,
     1,
     1,
     {{{"axes", kIntegers, {}}, {"starts", kIntegers, {}}, {"steps", kIntegers, {}}}}},
    {"pad",
     1,
     1,
     1,
     {{{"mode", kWord, "constant|reflect|edge|wrap"},
       {"pads", kIntegers, {}},
       {"value", kReal, {}}}}},
    {"transpose", 1, 1, 1, {{{"perm", kIntegers, {}}}}},
    {"view", 1, 1, 1, {}},
    {"gather", 2, 2, 1, {{{"axis", kInteger, {}}, {"distribution", kWord, "uniform"}}}},
    {"resize",
     1,
     1,
     1,
     {{{"antialias", kInteger, {}},
       {"coordinates", kWord, kCoordinates},
       {"cubic_a", kReal, {}},
       {"exclude_outside", kInteger, {}},
       {"mode", kWord, "nearest|linear|cubic"},
       {"nearest_mode", kWord, kNearestModes},
       {"scales", kReals, {}}}}},
    {"reduce",
     1,
     1,
     1,
     {{{"axes", kIntegers, {}}, {"fn", kWord, kReduceFunctions}, {"keepdims", kInteger, {}}}}},
    {"arg_reduce",
     1,
     1,
     1,
     {{{"axis", kInteger, {}},
       {"fn", kWord, "argmax|argmin"},
       {"keepdims", kInteger, {}},
       {"select_last", kInteger, {}}}}},
    {"where", 3, 3, 1, {}},
    {"cast", 1, 1, 1, {}},
    {"expand", 1, 1, 1, {}},
    {"tile", 1, 1, 1, {{{"repeats", kIntegers, {}}}}},
    {"depth_to_space", 1, 1, 1, {{{"block", kInteger, {}}, {"mode", kWord, "dcr|crd"}}}},
    {"space_to_depth", 1, 1, 1, {{{"block", kInteger, {}}}}},
    {"attention",
     3,
     6,
     3,
     {{{"causal", kInteger, {}},
       {"kv_heads", kInteger, {}},
       {"outputs", kWord, "y|yk|yv|ykv"},
       {"q_heads", kInteger, {}},
       {"scale", kReal, {}},
       {"softcap", kReal, {}}}}},
    {"attention_backward",
     6,
     6,
     3,
     {{{"causal", kInteger, {}},
       {"kv_heads", kInteger, {}},
       {"q_heads", kInteger, {}},
       {"scale", kReal, {}}}}},
    {"matmul_integer", 2, 8, 1, {}},
    {"conv_integer",
     2,
     9,
     1,
     {{{"dilations", kIntegers, {}},
       {"group", kInteger, {}},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    {"quantize", 2, 3, 1, {{{"axis", kInteger, {}}}}},
    {"dequantize", 2, 3, 1, {{{"axis", kInteger, {}}}}},
    {"max", 3, kMany, 1, {}},
    {"min", 3, kMany, 1, {}},
    {"rnn",
     3,
     5,
     2,
     {{{"direction", kWord, kDirections},
       {"fn", kWord, "tanh|relu|sigmoid"},
       {"layout", kInteger, {}},
       {"outputs", kWord, "y|h|yh"}}}},
    {"gru",
     3,
     5,
     2,
     {{{"direction", kWord, kDirections},
       {"layout", kInteger, {}},
       {"linear_before_reset", kInteger, {}},
       {"outputs", kWord, "y|h|yh"}}}},
    {"lstm",
     3,
     7,
     3,
     {{{"direction", kWord, kDirections},
       {"layout", kInteger, {}},
       {"outputs", kWord, "y|h|c|yh|yc|hc|yhc"}}}},
    // Gradients: what training adds. The first operand is the gradient of the layer's result.
    {"conv_backward_data",
     2,
     2,
     1,
     {{{"dilations", kIntegers, {}},
       {"group", kInteger, {}},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    {"conv_backward_weights",
     2,
     2,
     2,
     {{{"dilations", kIntegers, {}},
       {"group", kInteger, {}},
       {"outputs", kWord, "w|wb"},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    {"gemm_bias_gradient",
     2,
     2,
     2,
     {{{"alpha", kReal, {}},
       {"of", kWord, "a|b|y"},
       {"trans_a", kInteger, {}},
       {"trans_b", kInteger, {}}}}},
    {"eltwise_backward", 2, 2, 1, {{{"fn", kWord, {}}, {"parameters", kReals, {}}}}},
    {"softmax_backward",
     2,
     2,
     1,
     {{{"axis", kInteger, {}}, {"coerce", kInteger, {}}, {"log", kInteger, {}}}}},
    {"batch_norm_training", 3, 3, 3, {{{"epsilon", kReal, {}}}}},
    {"batch_norm_backward", 5, 5, 3, {{{"epsilon", kReal, {}}}}},
    {"layer_norm_backward", 5, 5, 3, {{{"axis", kInteger, {}}, {"epsilon", kReal, {}}}}},
    {"max_pool_backward",
     2,
     2,
     1,
     {{{"ceil_mode", kInteger, {}},
       {"dilations", kIntegers, {}},
       {"kernel", kIntegers, {}},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    {"gather_backward", 2, 2, 1, {{{"axis", kInteger, {}}, {"distribution", kWord, "uniform"}}}},
    {"average_pool_backward",
     1,
     1,
     1,
     {{{"ceil_mode", kInteger, {}},
       {"count_include_pad", kInteger, {}},
       {"dilations", kIntegers, {}},
       {"kernel", kIntegers, {}},
       {"pads", kIntegers, {}},
       {"strides", kIntegers, {}}}}},
    // Updates of weights, in place: for each tensor its weights, their gradient and the states.
    {"sgd",
     2,
     kMany,
     kMany,
     {{{"decay", kReal, {}}, {"momentum", kReal, {}}, {"rate", kReal, {}}}}},
    {"adam",
     5,
     kMany,
     kMany,
     {{{"beta1", kReal, {}},
       {"beta2", kReal, {}},
       {"decay", kReal, {}},
       {"decay_of", kWord, "gradient|weights"},
       {"epsilon", kReal, {}},
       {"rate", kReal, {}}}}},
    {"lamb",
     5,
     kMany,
     kMany,
     {{{"beta1", kReal, {}},
       {"beta2", kReal, {}},
       {"decay", kReal, {}},
       {"epsilon", kReal, {}},
       {"rate", kReal, {}}}}},
    // The scale of a loss, steps since it changed, and all gradients that it scaled.
    {"loss_scale",
     3,
     kMany,
     3,
     {{{"backoff", kReal, {}}, {"growth", kReal, {}}, {"interval", kInteger, {}}}}},
});

struct EltwiseFunction {
  std::string_view fn;
  std::size_t parameters;
  bool has_gradient = true;
};

constexpr std::array kEltwiseFunctions = std::to_array<EltwiseFunction>({
    {"relu", 0},         {"leaky_relu", 1},   {"elu", 1},          {"selu", 2},
    {"celu", 1},         {"sigmoid", 0},      {"tanh", 0},         {"softplus", 0},
    {"softsign", 0},     {"hard_sigmoid", 2}, {"hard_swish", 0},   {"silu", 0},
    {"gelu_erf", 0},     {"gelu_tanh", 0},    {"mish", 0},         {"thresholded_relu", 1},
    {"clip", 2},         {"exp", 0},          {"log", 0},          {"sqrt", 0},
    {"reciprocal", 0},   {"abs", 0},          {"neg", 0},          {"sign", 0, false},
    {"floor", 0, false}, {"ceil", 0, false},  {"round", 0, false}, {"erf", 0},
    {"sin", 0},          {"cos", 0},          {"not", 0, false},   {"is_nan", 0, false},
    {"linear", 2},
});

}  // namespace

std::size_t OpSchema::attribute_count() const {
  std::size_t count = 0;
  while (count < attributes.size() && !attributes[count].name.empty()) {
    ++count;
  }
  return count;
}

std::span<const OpSchema> op_schemas() {
  return kSchemas;
}

const OpSchema* find_op_schema(std::string_view op) {
  for (const OpSchema& schema : kSchemas) {
    if (schema.op == op) {
      return &schema;
    }
  }
  return nullptr;
}

std::optional<std::size_t> eltwise_parameter_count(std::string_view fn) {
  for (const EltwiseFunction& row : kEltwiseFunctions) {
    if (row.fn == fn) {
      return row.parameters;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> function_of_gradient(std::string_view fn) {
  if (!fn.ends_with(kBackward)) {
    return std::nullopt;
  }
  fn.remove_suffix(kBackward.size());
  for (const EltwiseFunction& row : kEltwiseFunctions) {
    if (row.fn == fn && row.has_gradient) {
      return row.fn;
    }
  }
  return std::nullopt;
}

bool is_binary_function(std::string_view fn) {
  return is_one_of(kBinaryFunctions, fn);
}

bool is_one_of(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = words.find('|');
    if (words.substr(0, end) == word) {
      return true;
    }
    words = end == std::string_view::npos ? std::string_view{} : words.substr(end + 1);
  }
  return false;
}

}  // namespace plumb::model
