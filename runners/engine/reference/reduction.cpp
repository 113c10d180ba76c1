// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

double total(std::span<const double> values, double (*term)(double)) {
  double result = 0.0;
  for (const double value : values) {
    result += term(value);
  }
  return result;
}
double same(double x) {
  return x;
}
double square(double x) {
  return x * x;
}
double magnitude(double x) {
  return std::fabs(x);
}

using Values = std::span<const double>;

double mean(Values values) {
  return total(values, same) / static_cast<double>(values.size());
}
double most(Values values) {
  return *std::max_element(values.begin(), values.end());
}
double least(Values values) {
  return *std::min_element(values.begin(), values.end());
}
double multiplied(Values values) {
  double result = 1.0;
  for (const double value : values) {
    result *= value;
  }
  return result;
}
double log_sum_exp(Values values) {
  const double shift = most(values);
  if (std::isinf(shift)) {
    return shift;
  }
  double result = 0.0;
  for (const double value : values) {
    result += std::exp(value - shift);
  }
  return shift + std::log(result);
}

struct Row {
  std::string_view fn;
  double (*reduce)(Values);
  double of_nothing;  ///< the result over no elements
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr std::array kFunctions = std::to_array<Row>({
    {"mean", mean, kNan},
    {"sum", [](Values v) { return total(v, same); }, 0.0},
    {"max", most, -kInfinity},
    {"min", least, kInfinity},
    {"prod", multiplied, 1.0},
    {"l1", [](Values v) { return total(v, magnitude); }, 0.0},
    {"l2", [](Values v) { return std::sqrt(total(v, square)); }, 0.0},
    {"sum_square", [](Values v) { return total(v, square); }, 0.0},
    {"log_sum", [](Values v) { return std::log(total(v, same)); }, -kInfinity},
    {"log_sum_exp", log_sum_exp, -kInfinity},
});

/// Calls `visit(output element, values)` with the values that each output element is reduced from.
template <typename Visitor>
void visit_reduced(const model::LayerSpec& spec,
                   const Numbers& x,
                   const Dims& axes,
                   Visitor&& visit) {
  const std::size_t rank = x.dims.size();
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t axis : axes) {
    require(axis >= 0 && axis < static_cast<std::int64_t>(rank) &&
                !reduced[static_cast<std::size_t>(axis)],
            spec,
            "axes lie outside x or are repeated");
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  const bool keep = spec.integer("keepdims") != 0;
  Dims kept;
  Dims y;
  std::int64_t size = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    kept.push_back(reduced[axis] ? 1 : x.dims[axis]);
    size *= reduced[axis] ? x.dims[axis] : 1;
    if (!reduced[axis] || keep) {
      y.push_back(kept.back());
    }
  }
  require(spec.outputs[0].dims == y, spec, "the output's shape does not follow from the input's");
  // Input elements come in order, so each output's list is in the order of its elements.
  std::vector<std::vector<double>> lists(static_cast<std::size_t>(product(kept)));
  const Numbers::Broadcasting output_of(spec, kept, x.dims);
  for (std::vector<double>& list : lists) {
    list.reserve(static_cast<std::size_t>(size));
  }
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    lists[output_of(i)].push_back(x.values[i]);
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    visit(i, Values(lists[i]));
  }
}

}  // namespace

Numbers reduce(const model::LayerSpec& spec, Operands operands) {
  const Row* found = nullptr;
  for (const Row& row : kFunctions) {
    if (row.fn == spec.text("fn")) {
      found = &row;
    }
  }
  require(found != nullptr, spec, "fn is unknown");
  // The least and largest values of bool are 0 and 1. Those of integers follow when they are
  // written.
  const bool flags = spec.outputs[0].dtype == model::DataType::kBool;
  const double of_nothing = flags ? std::clamp(found->of_nothing, 0.0, 1.0) : found->of_nothing;
  Numbers y = zeros_like_output(spec);
  visit_reduced(spec, operands[0], spec.integers("axes"), [&](std::size_t element, Values values) {
    y.values[element] = values.empty() ? of_nothing : found->reduce(values);
  });
  return y;
}

Numbers arg_reduce(const model::LayerSpec& spec, Operands operands) {
  const bool largest = spec.text("fn") == "argmax";
  require(largest || spec.text("fn") == "argmin", spec, "fn is unknown");
  const bool last = spec.integer("select_last") != 0;
  Numbers y = zeros_like_output(spec);
  visit_reduced(spec, operands[0], {spec.integer("axis")}, [&](std::size_t element, Values values) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
      const double gain = largest ? values[i] - values[best] : values[best] - values[i];
      if (gain > 0.0 || (last && gain == 0.0)) {
        best = i;
      }
    }
    y.values[element] = static_cast<double>(best);
  });
  return y;
}

}  // namespace plumb::engine::reference
