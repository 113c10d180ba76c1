// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/executed_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb::analysis {
namespace {

using Dims = std::vector<std::int64_t>;

/// Reads "mb1_ic64oc64_ih56…" as numbers by name.
std::map<std::string, std::int64_t> numbers_by_name(std::string_view text) {
  std::map<std::string, std::int64_t> numbers;
  std::size_t at = 0;
  while (at < text.size()) {
    std::string name;
    while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0) {
      name += text[at++];
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error == std::errc() && !name.empty()) {
      numbers.emplace(std::move(name), value);
    }
    at = std::max(static_cast<std::size_t>(end - text.data()), at + 1);
  }
  return numbers;
}

/// Reads "1x64x56x56" up to the first other character.
Dims parse_dims(std::string_view text) {
  Dims dims;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int64_t extent = 0;
    const auto [after, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || dims.size() >= 16) {
      break;
    }
    dims.push_back(extent);
    if (after == end || *after != 'x') {
      break;
    }
    at = after + 1;
  }
  return dims;
}

std::int64_t count(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, [](auto a, auto b) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::int64_t{-1} : product;
  });
}

const Dims* input_dims(const model::Layer& layer, std::size_t index) {
  return layer.spec.has_input(index) ? &layer.spec.inputs[index]->dims : nullptr;
}

bool fits_named(const std::map<std::string, std::int64_t>& numbers, const model::Layer& layer) {
  const Dims* const input = input_dims(layer, 0);
  if (input == nullptr || layer.spec.outputs.empty() || input->size() < 2) {
    return false;
  }
  const Dims& output = layer.spec.outputs[0].dims;
  const auto same = [&](const std::string& name, const Dims& dims, std::size_t axis) {
    const auto found = numbers.find(name);
    return found == numbers.end() || axis >= dims.size() || found->second == dims[axis];
  };
  const bool window = input->size() == 4;
  if (!same("mb", *input, 0) || !same("ic", *input, window ? 1 : input->size() - 1) ||
      !same("oc", output, window ? 1 : output.size() - 1)) {
    return false;
  }
  const Dims* const weights = layer.spec.op == "conv" ? input_dims(layer, 1) : nullptr;
  return !window || (same("ih", *input, 2) && same("iw", *input, 3) && same("oh", output, 2) &&
                     same("ow", output, 3) &&
                     (weights == nullptr || (same("kh", *weights, 2) && same("kw", *weights, 3))));
}

bool fits_product(const Dims& left, const Dims& right, const model::Layer& layer) {
  const Dims& output = layer.spec.outputs.at(0).dims;
  return !left.empty() && !right.empty() && !output.empty() && right.back() == output.back() &&
         count(left) / std::max<std::int64_t>(left.back(), 1) * right.back() == count(output);
}

bool fits_problem(std::string_view problem, const model::Layer& layer) {
  if (problem.empty() || layer.spec.outputs.empty()) {
    return true;
  }
  if (std::isalpha(static_cast<unsigned char>(problem.front())) != 0) {
    return fits_named(numbers_by_name(problem), layer);
  }
  const Dims first = parse_dims(problem);
  const std::size_t colon = problem.find(':');
  if (colon != std::string_view::npos && (layer.spec.op == "matmul" || layer.spec.op == "gemm")) {
    return fits_product(first, parse_dims(problem.substr(colon + 1)), layer);
  }
  const Dims* const input = input_dims(layer, 0);
  const auto same = [&](const Dims& dims) { return first == dims || count(first) == count(dims); };
  return (input != nullptr && same(*input)) || same(layer.spec.outputs[0].dims);
}

/// Returns a call's operands from the first factor on: PyTorch's addmm begins with what is added.
std::span<const Dims> factors_first(const results::ExecutedTrace::Description& call) {
  const std::span<const Dims> inputs(call.inputs);
  return call.operation == "aten::addmm" && !inputs.empty() ? inputs.subspan(1) : inputs;
}

}  // namespace

bool fits_shapes(const results::ExecutedTrace::Description& call, const model::Layer& layer) {
  if (!fits_problem(call.problem, layer)) {
    return false;
  }
  const std::span<const Dims> inputs = factors_first(call);
  // The first operands tell layers apart; a runtime may have folded the others.
  for (std::size_t i = 0; i < std::min<std::size_t>(inputs.size(), 2); ++i) {
    const Dims* const expected = input_dims(layer, i);
    const Dims& dims = inputs[i];
    if (expected == nullptr || dims.empty() || dims == *expected) {
      continue;
    }
    const bool weights = i == 1;
    if (!weights && count(dims) == count(*expected)) {
      continue;  // reshaped before
    }
    if (weights && dims == inputs[0]) {
      continue;  // what a fused addition adds, as in SkipLayerNormalization
    }
    // Weights may be transposed or blocked.
    Dims sorted = dims;
    Dims sorted_expected = *expected;
    std::sort(sorted.begin(), sorted.end());
    std::sort(sorted_expected.begin(), sorted_expected.end());
    if (!weights || sorted != sorted_expected) {
      return false;
    }
  }
  return true;
}

bool fits_operands(const results::ExecutedTrace::Description& library,
                   const results::ExecutedTrace::Description& runtime) {
  const std::span<const Dims> inputs = factors_first(runtime);
  if (inputs.empty() || inputs[0].empty()) {
    return true;
  }
  if (library.problem.empty()) {
    return library.inputs.empty() || library.inputs[0] == inputs[0];
  }
  const Dims& input = inputs[0];
  if (std::isalpha(static_cast<unsigned char>(library.problem.front())) == 0) {
    return count(parse_dims(library.problem)) == count(input);
  }
  const std::map<std::string, std::int64_t> numbers = numbers_by_name(library.problem);
  const auto same = [&](const char* name, const Dims& dims, std::size_t axis) {
    const auto found = numbers.find(name);
    return found == numbers.end() || axis >= dims.size() || found->second == dims[axis];
  };
  if (input.size() != 4) {
    return same("mb", input, 0);
  }
  const Dims* const weights = inputs.size() > 1 ? &inputs[1] : nullptr;
  return same("mb", input, 0) && same("ic", input, 1) && same("ih", input, 2) &&
         same("iw", input, 3) &&
         (weights == nullptr || (same("kh", *weights, 2) && same("oc", *weights, 0)));
}

namespace {

/// ONNX operators that an operation executes, between spaces.
constexpr std::array kOperators = std::to_array<std::pair<std::string_view, std::string_view>>({
    // oneDNN
    {"convolution", " Conv ConvInteger QLinearConv "},
    {"deconvolution", " ConvTranspose "},
    {"inner_product", " Gemm MatMul "},
    {"matmul", " Gemm MatMul MatMulInteger QLinearMatMul "},
    {"pooling", " MaxPool AveragePool GlobalAveragePool GlobalMaxPool "},
    {"pooling_v2", " MaxPool AveragePool GlobalAveragePool GlobalMaxPool "},
    {"batch_normalization", " BatchNormalization "},
    {"layer_normalization", " LayerNormalization "},
    {"eltwise", " Relu LeakyRelu Clip Sigmoid Tanh Elu Gelu Exp Sqrt Abs Log Erf HardSwish Pow "},
    {"binary", " Add Sub Mul Div Max Min "},
    {"sum", " Add Sum "},
    {"lrn", " LRN "},
    {"softmax", " Softmax LogSoftmax "},
    {"softmax_v2", " Softmax LogSoftmax "},
    {"concat", " Concat "},
    {"resampling", " Resize Upsample "},
    {"reduction", " ReduceMean ReduceSum ReduceMax GlobalAveragePool "},
    {"shuffle", " Transpose "},
    // ONNX Runtime: operators that are none of ONNX's
    {"FusedConv", " Conv "},
    {"NchwcConv", " Conv "},
    {"FusedGemm", " Gemm "},
    {"Gemm", " MatMul "},                    // with the addition behind it
    {"GlobalAveragePool", " AveragePool "},  // over the whole image
    {"GlobalMaxPool", " MaxPool "},
    {"Gelu", " Erf "},
    {"FusedMatMul", " MatMul "},
    {"BiasGelu", " Add Gelu Erf "},
    {"QuickGelu", " Mul Sigmoid "},
    {"SkipLayerNormalization", " LayerNormalization "},
    // PyTorch
    {"aten::conv2d", " Conv "},
    {"aten::conv1d", " Conv "},
    {"aten::convolution", " Conv "},
    {"aten::conv_transpose2d", " ConvTranspose "},
    {"aten::linear", " Gemm MatMul "},
    {"aten::addmm", " Gemm MatMul "},
    {"aten::matmul", " MatMul Gemm "},
    {"aten::mm", " MatMul Gemm "},
    {"aten::bmm", " MatMul "},
    {"aten::batch_norm", " BatchNormalization "},
    {"aten::_native_batch_norm_legit_no_training", " BatchNormalization "},
    {"aten::layer_norm", " LayerNormalization "},
    {"aten::native_layer_norm", " LayerNormalization "},
    {"aten::relu", " Relu "},
    {"aten::relu_", " Relu "},
    {"aten::relu6", " Clip "},
    {"aten::hardtanh", " Clip "},
    {"aten::hardtanh_", " Clip "},
    {"aten::clamp", " Clip "},
    {"aten::sigmoid", " Sigmoid "},
    {"aten::tanh", " Tanh "},
    {"aten::erf", " Erf "},
    {"aten::gelu", " Gelu "},
    {"aten::leaky_relu", " LeakyRelu "},
    {"aten::elu", " Elu "},
    {"aten::prelu", " PRelu "},
    {"aten::hardswish", " HardSwish "},
    {"aten::exp", " Exp "},
    {"aten::add", " Add "},
    {"aten::add_", " Add "},
    {"aten::sub", " Sub "},
    {"aten::mul", " Mul "},
    {"aten::div", " Div "},
    {"aten::pow", " Pow "},
    {"aten::sqrt", " Sqrt "},
    {"aten::max_pool2d", " MaxPool "},
    {"aten::max_pool2d_with_indices", " MaxPool "},
    {"aten::amax", " GlobalMaxPool ReduceMax "},
    {"aten::avg_pool2d", " AveragePool "},
    {"aten::avg_pool3d", " LRN "},
    {"aten::_adaptive_avg_pool2d", " AveragePool GlobalAveragePool "},
    {"aten::adaptive_avg_pool2d", " AveragePool GlobalAveragePool "},
    {"aten::mean", " ReduceMean GlobalAveragePool "},
    {"aten::sum", " ReduceSum "},
    {"aten::softmax", " Softmax "},
    {"aten::_softmax", " Softmax "},
    {"aten::_log_softmax", " LogSoftmax "},
    {"aten::log_softmax", " LogSoftmax "},
    {"aten::cat", " Concat "},
    {"aten::split", " Split "},
    {"aten::flatten", " Flatten Reshape "},
    {"aten::reshape", " Reshape Flatten "},
    {"aten::view", " Reshape Flatten "},
    {"aten::unsqueeze", " Unsqueeze "},
    {"aten::squeeze", " Squeeze "},
    {"aten::transpose", " Transpose "},
    {"aten::permute", " Transpose "},
    {"aten::dropout", " Dropout "},
    {"aten::embedding", " Gather "},
    {"aten::index_select", " Gather "},
});

constexpr std::string_view kAten = "aten::";

// torch.compile calls a kernel that it makes graph_0_cpp_fused_add_relu_3, or triton_poi_fused_….
constexpr std::string_view kFused = "_fused_";

bool has_operator(std::string_view operators, std::string_view op) {
  for (std::size_t at = operators.find(op); at != std::string_view::npos;
       at = operators.find(op, at + 1)) {
    const std::size_t end = at + op.size();
    if (at > 0 && operators[at - 1] == ' ' && end < operators.size() && operators[end] == ' ') {
      return true;
    }
  }
  return false;
}

/// Returns whether one of the operators that a made kernel is called after executes a layer. It may
/// be called after the product before it, which is a call of its own.
bool made_kernel_may_execute(std::string_view kernel, std::string_view op) {
  return std::any_of(kOperators.begin(), kOperators.end(), [&](const auto& row) {
    return row.first.starts_with(kAten) && has_operator(row.second, op) &&
           !has_operator(row.second, "Conv") && !has_operator(row.second, "ConvTranspose") &&
           !has_operator(row.second, "Gemm") && !has_operator(row.second, "MatMul") &&
           kernel.find(fmt::format("_{}_", row.first.substr(kAten.size()))) !=
               std::string_view::npos;
  });
}

std::string_view base_of(std::string_view onnx_op) {
  const std::size_t domain = onnx_op.rfind('.');
  return domain == std::string_view::npos ? onnx_op : onnx_op.substr(domain + 1);
}

}  // namespace

bool is_made_kernel(std::string_view operation) {
  return operation.find(kFused) != std::string_view::npos;
}

bool may_execute(std::string_view operation, std::string_view onnx_op) {
  const std::string_view op = base_of(onnx_op);
  if (operation == op) {
    return true;
  }
  if (is_made_kernel(operation)) {
    return made_kernel_may_execute(operation, op);
  }
  const auto* const row = std::find_if(kOperators.begin(), kOperators.end(), [&](const auto& each) {
    return each.first == operation;
  });
  return row != kOperators.end() && has_operator(row->second, op);
}

namespace {

// A call of the library that none of so many next calls of the runtime may be is left out.
constexpr std::size_t kFarthest = 4096;

constexpr std::array<std::string_view, 4> kProducts{"Conv", "ConvTranspose", "Gemm", "MatMul"};

/// Joiner of two traces, whose descriptions it keeps in the runtime's.
class Joiner {
 public:
  Joiner(results::ExecutedTrace runtime, const results::ExecutedTrace& library)
      : runtime_(std::move(runtime)),
        library_(library),
        first_of_library_(static_cast<std::uint32_t>(runtime_.descriptions.size())) {
    runtime_.descriptions.insert(
        runtime_.descriptions.end(), library.descriptions.begin(), library.descriptions.end());
  }

  results::ExecutedTrace join() && {
    for (const results::ExecutedTrace::TracedCall& call : library_.calls) {
      const results::ExecutedTrace::Description::Kind kind = library_.description_of(call).kind;
      if (kind == results::ExecutedTrace::Description::Kind::kReorder) {
        movements_.push_back(call);
      } else if (kind == results::ExecutedTrace::Description::Kind::kCompute) {
        take(call);
        movements_.clear();
      }
    }
    keep_until(runtime_.calls.size());
    runtime_.calls = std::move(joined_);
    runtime_.threads = std::max(runtime_.threads, library_.threads);
    runtime_.processors = std::max(runtime_.processors, library_.processors);
    return std::move(runtime_);
  }

 private:
  void take(const results::ExecutedTrace::TracedCall& call) {
    const std::size_t end = std::min(runtime_.calls.size(), next_ + kFarthest);
    std::size_t at = next_;
    while (at < end && !fits(call, runtime_.calls[at])) {
      ++at;
    }
    if (at == end) {
      return;
    }
    keep_until(at);
    results::ExecutedTrace::TracedCall executed = runtime_.calls[at];
    for (results::ExecutedTrace::TracedCall movement : movements_) {
      movement.description += first_of_library_;
      movement.start = executed.start;
      movement.duration = std::min(movement.duration, executed.duration);
      movement.thread = executed.thread;
      movement.execution = executed.execution;
      executed.start += movement.duration;
      executed.duration -= movement.duration;
      joined_.push_back(movement);
    }
    executed.description = describe(executed.description, call.description);
    joined_.push_back(executed);
    next_ = at + 1;
  }

  void keep_until(std::size_t end) {
    std::copy(runtime_.calls.begin() + static_cast<std::ptrdiff_t>(next_),
              runtime_.calls.begin() + static_cast<std::ptrdiff_t>(end),
              std::back_inserter(joined_));
    next_ = end;
  }

  [[nodiscard]] bool fits(const results::ExecutedTrace::TracedCall& call,
                          const results::ExecutedTrace::TracedCall& of_runtime) {
    const auto [row, first] = fits_.try_emplace({call.description, of_runtime.description}, false);
    if (first) {
      const results::ExecutedTrace::Description& inner = library_.description_of(call);
      const results::ExecutedTrace::Description& outer = runtime_.description_of(of_runtime);
      row->second =
          outer.kind == results::ExecutedTrace::Description::Kind::kCompute &&
          !outer.inputs.empty() &&
          std::any_of(kProducts.begin(),
                      kProducts.end(),
                      [&](std::string_view op) {
                        return may_execute(inner.operation, op) && may_execute(outer.operation, op);
                      }) &&
          fits_operands(inner, outer);
    }
    return row->second;
  }

  /// Returns the description of a runtime's call with what the library says of it.
  std::uint32_t describe(std::uint32_t of_runtime, std::uint32_t of_library) {
    const auto [row, first] = descriptions_.try_emplace(
        {of_runtime, of_library}, static_cast<std::uint32_t>(runtime_.descriptions.size()));
    if (first) {
      results::ExecutedTrace::Description joined = runtime_.descriptions[of_runtime];
      joined.implementation = library_.descriptions[of_library].implementation;
      joined.layouts = library_.descriptions[of_library].layouts;
      runtime_.descriptions.push_back(std::move(joined));
    }
    return row->second;
  }

  results::ExecutedTrace runtime_;
  const results::ExecutedTrace& library_;
  std::uint32_t first_of_library_;
  std::size_t next_ = 0;  // call of the runtime
  std::vector<results::ExecutedTrace::TracedCall>
      movements_;  // of the library, before its next call
  std::vector<results::ExecutedTrace::TracedCall> joined_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> fits_;  // by both descriptions
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> descriptions_;
};

}  // namespace

results::ExecutedTrace join_traces(results::ExecutedTrace runtime,
                                   const results::ExecutedTrace& library) {
  return Joiner(std::move(runtime), library).join();
}

}  // namespace plumb::analysis
