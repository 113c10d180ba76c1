// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/verification.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>

#include "harness/base/digest.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

constexpr std::array kMovers = std::to_array<std::string_view>({
    "concat",
    "split",
    "slice",
    "pad",
    "transpose",
    "view",
    "gather",
    "where",
    "expand",
    "tile",
    "depth_to_space",
    "space_to_depth",
});

// Words of libraries for algorithms that transform their operands and add up the transformed.
constexpr std::array kTransforms = std::to_array<std::string_view>({"wino", "fft"});

// Lies between f32, which reaches 1e-5 for 65,536 products added one by one, and TF32, which
// reaches 2e-4 whatever their number (verification_test measures both).
constexpr double kDirectProducts = 5e-5;

// Lies between TF32, whose factors have 10 bits behind the point and are rounded (3e-4) or cut off
// (9e-4), and bf16 with 7 (1.5e-3). The two factors of a product may be off by 2^-10 together. It
// holds for f16 too, whose factors are exact and whose sum is rounded once (5e-4) or, before an
// epilogue, twice.
constexpr double kTenBitProducts = 1.2e-3;
constexpr double kTf32 = 5e-3;  // transformed, or through several products
constexpr double kFewDigits = 2e-2;

std::int64_t extents(const model::TensorType& type, std::size_t begin) {
  std::int64_t product = 1;
  for (std::size_t axis = begin; axis < type.dims.size(); ++axis) {
    product *= type.dims[axis];
  }
  return product;
}

std::int64_t volume(const std::vector<std::int64_t>& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    product *= extent;
  }
  return product;
}

/// Returns whether numbers of a type, or sums of their products, are exact to a few digits only.
bool has_few_digits(model::DataType type) {
  return type == model::DataType::kBf16 || type == model::DataType::kF16 || model::is_f8(type);
}

/// Returns whether a layer is a product of f16 that is summed in f32 or better.
bool is_f16_product(const model::LayerSpec& spec) {
  const auto fine = [](model::DataType type) {
    return type == model::DataType::kF16 || !has_few_digits(type);
  };
  return model::is_single_product(spec) && !has_few_digits(spec.accumulate) &&
         spec.math != model::LayerSpec::MathClass::kDownConvert &&
         std::all_of(spec.inputs.begin(),
                     spec.inputs.end(),
                     [&](const auto& input) { return !input || fine(input->dtype); }) &&
         std::all_of(spec.outputs.begin(), spec.outputs.end(), [&](const auto& output) {
           return fine(output.dtype);
         });
}

/// Returns whether a layer converts between 8-bit floats and other floats, in either direction.
/// Such a conversion rounds once or not at all.
bool casts_f8(const model::LayerSpec& spec) {
  return spec.op == "cast" &&
         (model::is_f8(spec.inputs.at(0).value().dtype) || model::is_f8(spec.outputs.at(0).dtype));
}

/// Comparison of one output with its reference, which keeps the worst element.
class Comparison {
 public:
  /// Compares against `largest`, the reference's largest magnitude. With `ties`, an integer may be
  /// off by one where the number before rounding lay in the middle.
  Comparison(const model::TensorType& type,
             std::size_t output,
             double largest,
             double tolerance,
             bool ties)
      : type_(type),
        output_(output),
        scale_(largest > 0.0 ? largest : 1.0),
        tolerance_(tolerance),
        ties_(ties) {}

  /// Compares one element after the other, from `first` on.
  void add(std::size_t first, std::span<const double> expected, std::span<const double> actual) {
    compared_ += expected.size();
    double settled = worst_ * scale_;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // Most are nearer than the worst one so far. Infinities and NaN are not.
      if (ties_ || !(std::fabs(actual[i] - expected[i]) <= settled)) {
        judge(first + i, expected[i], actual[i]);
        settled = worst_ * scale_;
      }
    }
  }

  /// Fails the output if more elements are off by one than ties explain. Ties are rare, so many of
  /// them mean another rounding.
  void finish() {
    constexpr std::size_t kFew = 2;
    constexpr std::size_t kShare = 100;  // one in so many
    if (reason_.empty() && off_by_one_ > kFew + compared_ / kShare) {
      reason_ = fmt::format(
          "output {}: {} of {} elements are off by one, more than the rounding of ties explains",
          output_,
          off_by_one_,
          compared_);
    }
  }

  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] bool finite() const { return finite_; }
  [[nodiscard]] double worst() const { return worst_; }

 private:
  void judge(std::size_t element, double expected, double actual) {
    const bool same_special = std::isnan(expected) ? std::isnan(actual) : expected == actual;
    if (same_special) {
      return;
    }
    const double error = std::fabs(actual - expected) / scale_;
    if (ties_ && std::fabs(actual - expected) == 1.0) {
      ++off_by_one_;
      worst_ = std::max(worst_, error);
      return;
    }
    if (!std::isfinite(error)) {
      note(element, expected, actual, "a value that is not finite");
      finite_ = false;
    } else {
      if (error > tolerance_ && !(error <= worst_)) {
        note(element,
             expected,
             actual,
             fmt::format("an error of {:.3g} of the largest value {:.6g}, where {:.3g} is allowed",
                         error,
                         scale_,
                         tolerance_));
      }
      worst_ = std::max(worst_, error);
    }
  }

  void note(std::size_t element, double expected, double actual, std::string_view what) {
    if (!finite_) {
      return;
    }
    std::vector<std::size_t> position(type_.dims.size());
    std::size_t rest = element;
    for (std::size_t axis = position.size(); axis-- > 0;) {
      position[axis] = rest % static_cast<std::size_t>(type_.dims[axis]);
      rest /= static_cast<std::size_t>(type_.dims[axis]);
    }
    reason_ = fmt::format("output {} at [{}] (element {}): expected {:.9g}, got {:.9g}: {}",
                          output_,
                          fmt::join(position, ","),
                          element,
                          expected,
                          actual,
                          what);
  }

  const model::TensorType& type_;
  std::size_t output_;
  double scale_;
  double tolerance_;
  bool ties_;
  std::size_t compared_ = 0;
  std::size_t off_by_one_ = 0;
  double worst_ = 0.0;
  bool finite_ = true;
  std::string reason_;
};

double largest_finite(std::span<const double> values) {
  double largest = 0.0;
  for (const double value : values) {
    largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
  }
  return largest;
}

constexpr std::size_t kTogether = 2048;  // elements: as numbers they fit into the first cache

/// Reads a part of the elements of a tensor.
class TensorPart {
 public:
  std::span<const double> read(const model::Tensor& tensor, std::size_t first) {
    const auto count = static_cast<std::size_t>(element_count(tensor.type));
    const std::span numbers = std::span(numbers_).first(std::min(kTogether, count - first));
    read_numbers(tensor, first, numbers);
    return numbers;
  }

 private:
  std::array<double, kTogether> numbers_{};
};

double largest_finite(const model::Tensor& tensor) {
  double largest = 0.0;
  TensorPart part;
  for (std::size_t first = 0; first < static_cast<std::size_t>(element_count(tensor.type));
       first += kTogether) {
    largest = std::max(largest, largest_finite(part.read(tensor, first)));
  }
  return largest;
}

std::string describe(const model::TensorType& type) {
  return fmt::format("{}[{}]", to_text(type.dtype), fmt::join(type.dims, ","));
}

/// Returns how the outputs' number, types or shapes differ from the key's; empty if they do not.
std::string difference_in_form(const model::LayerSpec& spec,
                               std::span<const model::Tensor> actual) {
  if (actual.size() != spec.outputs.size()) {
    return fmt::format("expected {} outputs, got {}", spec.outputs.size(), actual.size());
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const model::TensorType& wanted = spec.outputs[i];
    const model::Tensor& got = actual[i];
    if (got.type.dtype != wanted.dtype || got.type.dims != wanted.dims ||
        got.data.size() != static_cast<std::size_t>(model::byte_size(wanted).value)) {
      return fmt::format("output {} should be {}, is {} with {} bytes",
                         i,
                         describe(wanted),
                         describe(got.type),
                         got.data.size());
    }
  }
  return {};
}

}  // namespace

std::string output_hash(std::span<const model::Tensor> outputs) {
  std::uint64_t hash = 0;
  for (const model::Tensor& output : outputs) {
    hash = hash64(output.data, hash);
  }
  return fmt::format("{:016x}", hash);
}

std::int64_t reduction_length(const model::LayerSpec& spec) {
  const model::TensorType& x = spec.inputs.at(0).value();
  if (spec.op == "conv_backward_data") {  // of one group: the result's channels × the kernel
    const model::TensorType& w = spec.inputs.at(1).value();
    return extents(w, 0) / std::max<std::int64_t>(
                               1, w.dims.at(1) * std::max<std::int64_t>(1, spec.integer("group")));
  }
  if (spec.op == "conv_backward_weights") {
    return extents(x, 0) / std::max<std::int64_t>(1, x.dims.at(1));
  }
  if (spec.op == "batch_norm_backward" || spec.op == "batch_norm_training") {
    return extents(x, 0) / std::max<std::int64_t>(1, x.dims.at(1));
  }
  if (spec.op == "gemm_bias_gradient") {  // the bias' sums may be the longer ones
    const std::int64_t depth = x.dims.at(spec.integer("trans_a") != 0 ? 0 : 1);
    return std::max(depth, spec.outputs.at(0).dims.at(0));
  }
  if (spec.op == "conv" || spec.op == "conv_integer") {
    return extents(spec.inputs.at(1).value(), 1);
  }
  if (spec.op == "conv_transpose") {
    const model::TensorType& w = spec.inputs.at(1).value();
    const std::int64_t group = std::max<std::int64_t>(1, spec.integer("group"));
    return w.dims.empty() ? 1 : w.dims[0] / group * extents(w, 2);
  }
  if (spec.op == "gemm") {
    return x.dims.at(spec.integer("trans_a") != 0 ? 0 : 1);
  }
  if (spec.op == "attention") {
    const model::AttentionShape shape = model::attention_shape(spec);
    return shape.head + shape.keys;
  }
  if (spec.op == "attention_backward") {  // dk and dv add up over all queries that see the key
    const model::AttentionShape shape = model::attention_shape(model::forward_layer(spec));
    const std::int64_t queries = shape.queries * (shape.q_heads / shape.kv_heads);
    return shape.head + shape.value_head + std::max(shape.keys, queries);
  }
  if (spec.op == "matmul" || spec.op == "matmul_integer") {
    return x.dims.empty() ? 1 : x.dims.back();
  }
  if (model::is_recurrent(spec)) {
    const model::RecurrentShape shape = model::recurrent_shape(spec);
    return shape.input + shape.hidden;
  }
  if (spec.op == "max_pool" || spec.op == "average_pool" || spec.op == "lp_pool" ||
      spec.op == "max_pool_backward" || spec.op == "average_pool_backward") {
    return volume(spec.integers("kernel"));
  }
  if (spec.op == "layer_norm_backward") {  // along rows, and of the weights over all rows
    const std::int64_t row = extents(x, static_cast<std::size_t>(spec.integer("axis")));
    return std::max(row, extents(x, 0) / std::max<std::int64_t>(1, row));
  }
  if (spec.op == "layer_norm" || spec.op == "rms_norm" || spec.op == "softmax" ||
      spec.op == "softmax_backward") {
    return extents(x, static_cast<std::size_t>(spec.integer("axis")));
  }
  if (spec.op == "instance_norm" || spec.op == "group_norm") {
    return extents(x, spec.op == "instance_norm" ? 2 : 1);
  }
  if (spec.op == "reduce") {
    return std::max<std::int64_t>(1, extents(x, 0)) /
           std::max<std::int64_t>(1, extents(spec.outputs.at(0), 0));
  }
  return spec.op == "lrn" ? spec.integer("size") : 1;
}

Verifier::Arithmetic find_arithmetic(std::string_view variant,
                                     const results::Attributes& attributes) {
  std::string names(variant);
  if (const auto notes = attributes.find("numerical_notes"); notes != attributes.end()) {
    names += notes->second;
  }
  std::transform(names.begin(), names.end(), names.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  const bool transforms =
      std::any_of(kTransforms.begin(), kTransforms.end(), [&](std::string_view word) {
        return names.find(word) != std::string::npos;
      });
  return transforms ? Verifier::Arithmetic::kTransformed : Verifier::Arithmetic::kDirect;
}

double compute_tolerance(const model::LayerSpec& spec,
                         std::size_t index,
                         Verifier::Arithmetic arithmetic) {
  const bool moves = std::find(kMovers.begin(), kMovers.end(), spec.op) != kMovers.end();
  const model::DataType output = spec.outputs.at(index).dtype;
  if ((moves && spec.epilogue.empty()) || !model::is_floating(output) || casts_f8(spec)) {
    return 0.0;
  }
  if (model::is_f8(output)) {
    return output == model::DataType::kF8E4M3 ? 0.125 : 0.25;
  }
  bool few = has_few_digits(output) || spec.math == model::LayerSpec::MathClass::kDownConvert;
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    few = few || (input && has_few_digits(input->dtype));
  }
  const bool direct = arithmetic == Verifier::Arithmetic::kDirect;
  if (few) {
    return direct && is_f16_product(spec) ? kTenBitProducts : kFewDigits;
  }
  if (spec.math == model::LayerSpec::MathClass::kTf32) {
    return direct && model::is_single_product(spec) ? kTenBitProducts : kTf32;
  }
  const double grown =
      1e-5 * std::sqrt(static_cast<double>(std::max<std::int64_t>(1, reduction_length(spec))));
  return direct && model::is_floating_product(spec) ? std::min(grown, kDirectProducts) : grown;
}

Verifier::Verifier(const model::LayerSpec& spec,
                   std::span<const model::Tensor> operands,
                   const Verifier::Options& options)
    : spec_(spec), support_(reference_support(spec)) {
  if (!support_.ok()) {
    return;
  }
  std::int64_t elements = element_count(spec.outputs[0]);
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    elements = std::max(elements, input ? element_count(*input) : 0);
  }
  sampled_ =
      has_sampled_reference(spec) && (model::compute_cost(spec).macs > options.fully_below_macs ||
                                      elements > options.fully_below_elements);
  if (sampled_) {
    elements_ = sampled_reference(spec, operands, options.samples, options.seed);
  } else {
    expected_ = reference_outputs(spec, operands);
    for (const model::Tensor& output : expected_) {
      largest_.push_back(largest_finite(output));
    }
  }
}

Verifier::Verdict Verifier::verify(std::span<const model::Tensor> actual,
                                   Verifier::Arithmetic arithmetic) const {
  Verifier::Verdict verdict;
  verdict.output_hash = output_hash(actual);
  if (!support_.ok()) {
    verdict.outcome = support_;
    return verdict;
  }
  verdict.outcome.reason = difference_in_form(spec_, actual);
  if (!verdict.outcome.reason.empty()) {
    verdict.outcome.kind = results::Outcome::Kind::kWrongResult;
    return verdict;
  }
  bool finite = true;
  double worst = 0.0;
  const auto finish = [&](Comparison& comparison) {
    comparison.finish();
    finite = finite && comparison.finite();
    worst = std::max(worst, comparison.worst());
    if (!comparison.reason().empty() && verdict.outcome.ok()) {
      verdict.outcome = {results::Outcome::Kind::kWrongResult, comparison.reason()};
    }
  };
  if (sampled_) {
    for (std::size_t i = 0; i < spec_.outputs.size(); ++i) {
      std::vector<double> expected;
      for (const SampledElement& sample : elements_) {
        if (sample.output == i) {
          expected.push_back(sample.value);
        }
      }
      Comparison comparison(spec_.outputs[i],
                            i,
                            largest_finite(expected),
                            compute_tolerance(spec_, i, arithmetic),
                            model::rounds_to_integers(spec_));
      for (const SampledElement& sample : elements_) {
        if (sample.output == i) {
          const double got = number_at(actual[i], sample.element);
          comparison.add(sample.element, std::span(&sample.value, 1), std::span(&got, 1));
        }
      }
      finish(comparison);
    }
    verdict.compared = elements_.size();
  } else {
    TensorPart expected;
    TensorPart got;
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const auto count = static_cast<std::size_t>(element_count(expected_[i].type));
      Comparison comparison(spec_.outputs[i],
                            i,
                            largest_[i],
                            compute_tolerance(spec_, i, arithmetic),
                            model::rounds_to_integers(spec_));
      for (std::size_t first = 0; first < count; first += kTogether) {
        comparison.add(first, expected.read(expected_[i], first), got.read(actual[i], first));
      }
      verdict.compared += count;
      finish(comparison);
    }
  }
  if (finite && verdict.compared > 0) {
    verdict.maximum_error = worst;
  }
  return verdict;
}

Verifier::Verdict verify(const model::LayerSpec& spec,
                         std::span<const model::Tensor> operands,
                         std::span<const model::Tensor> actual,
                         const Verifier::Options& options) {
  return Verifier(spec, operands, options).verify(actual);
}

}  // namespace plumb::engine
