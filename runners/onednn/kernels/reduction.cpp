// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"
#include "runners/onednn/kernels/element_block.hpp"

namespace plumb::onednn {
namespace {

/// Positions of a dense tensor, split so that element (o, r) is at kept[o] + reduced[r].
struct Positions {
  std::vector<std::size_t> kept;
  std::vector<std::size_t> reduced;
};

void extend(std::vector<std::size_t>& positions, std::int64_t extent, std::int64_t stride) {
  std::vector<std::size_t> longer;
  longer.reserve(positions.size() * static_cast<std::size_t>(extent));
  for (const std::size_t position : positions) {
    for (std::int64_t index = 0; index < extent; ++index) {
      longer.push_back(position + static_cast<std::size_t>(index * stride));
    }
  }
  positions = std::move(longer);
}

Positions find_positions(const model::LayerSpec& spec, const std::vector<std::int64_t>& axes) {
  const auto& x = spec.inputs[0]->dims;
  for (const std::int64_t axis : axes) {
    require(
        axis >= 0 && axis < static_cast<std::int64_t>(x.size()), spec, "an axis is out of range");
  }
  const auto strides = dense_strides(x);
  Positions positions{{0}, {0}};
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const bool gone =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    extend(gone ? positions.reduced : positions.kept, x[axis], strides[axis]);
  }
  require(element_count(spec.outputs[0]) == static_cast<std::int64_t>(positions.kept.size()),
          spec,
          "the output does not follow from the input and the axes");
  return positions;
}

using Fold = double (*)(const double* x,
                        std::size_t first,
                        const std::vector<std::size_t>& reduced);

template <typename Term>
double total(const double* x,
             std::size_t first,
             const std::vector<std::size_t>& reduced,
             Term term) {
  double sum = 0;
  for (const std::size_t offset : reduced) {
    sum += term(x[first + offset]);
  }
  return sum;
}

using Offsets = std::vector<std::size_t>;

double compute_sum(const double* x, std::size_t first, const Offsets& reduced) {
  return total(x, first, reduced, [](double v) { return v; });
}

double compute_squares(const double* x, std::size_t first, const Offsets& reduced) {
  return total(x, first, reduced, [](double v) { return v * v; });
}

double compute_maximum(const double* x, std::size_t first, const Offsets& reduced) {
  double most = -std::numeric_limits<double>::infinity();
  for (const std::size_t offset : reduced) {
    most = std::max(most, x[first + offset]);
  }
  return most;
}

double compute_minimum(const double* x, std::size_t first, const Offsets& reduced) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t offset : reduced) {
    least = std::min(least, x[first + offset]);
  }
  return least;
}

double compute_product(const double* x, std::size_t first, const Offsets& reduced) {
  double product = 1;
  for (const std::size_t offset : reduced) {
    product *= x[first + offset];
  }
  return product;
}

double compute_log_sum_exp(const double* x, std::size_t first, const Offsets& reduced) {
  const double most = compute_maximum(x, first, reduced);
  if (!std::isfinite(most)) {
    return most;
  }
  return most + std::log(total(x, first, reduced, [most](double v) { return std::exp(v - most); }));
}

Fold fold_named(const std::string& fn) {
  struct Row {
    const char* fn;
    Fold fold;
  };
  static constexpr Row kRows[] = {
      {"sum", compute_sum},
      {"mean",
       [](const double* x, std::size_t first, const Offsets& reduced) {
         return compute_sum(x, first, reduced) / static_cast<double>(reduced.size());
       }},
      {"max", compute_maximum},
      {"min", compute_minimum},
      {"prod", compute_product},
      {"l1",
       [](const double* x, std::size_t first, const Offsets& reduced) {
         return total(x, first, reduced, [](double v) { return std::abs(v); });
       }},
      {"l2",
       [](const double* x, std::size_t first, const Offsets& reduced) {
         return std::sqrt(compute_squares(x, first, reduced));
       }},
      {"sum_square", compute_squares},
      {"log_sum",
       [](const double* x, std::size_t first, const Offsets& reduced) {
         return std::log(compute_sum(x, first, reduced));
       }},
      {"log_sum_exp", compute_log_sum_exp},
  };
  for (const Row& row : kRows) {
    if (fn == row.fn) {
      return row.fold;
    }
  }
  return nullptr;
}

}  // namespace

void fold_reduce(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  require_operands(spec, 1);
  const std::string& fn = spec.text("fn");
  require(element_count(*spec.inputs[0]) > 0 || model::is_floating(spec.outputs[0].dtype) ||
              (fn != "max" && fn != "min"),
          spec,
          "the extreme of zero integers depends on the type");
  const model::DataType in = spec.inputs[0]->dtype;
  const model::DataType out = spec.outputs[0].dtype;
  check_number(in);
  check_number(out);
  const Fold fold = fold_named(fn);
  require(fold != nullptr, spec, "no built-in kernel has the function");
  const auto positions =
      std::make_shared<const Positions>(find_positions(spec, spec.integers("axes")));
  auto values = std::make_shared<std::vector<double>>(
      static_cast<std::size_t>(element_count(*spec.inputs[0])));
  auto results = std::make_shared<std::vector<double>>(positions->kept.size());
  add_own(list, spec, "reduce", [=](const KernelOperands& operands) {
    load(in, operands.input(0), values->size(), values->data());
    for (std::size_t index = 0; index < results->size(); ++index) {
      (*results)[index] = fold(values->data(), positions->kept[index], positions->reduced);
    }
    store(out, results->data(), results->size(), operands.output(0));
  });
}

void find_extreme(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  require_operands(spec, 1);
  const model::DataType in = spec.inputs[0]->dtype;
  const model::DataType out = spec.outputs[0].dtype;
  check_number(in);
  check_number(out);
  const bool largest = spec.text("fn") == "argmax";
  const bool last = spec.integer("select_last") != 0;
  const auto positions =
      std::make_shared<const Positions>(find_positions(spec, {spec.integer("axis")}));
  require(!positions->reduced.empty(), spec, "an axis of extent 0 has no extreme");
  auto values = std::make_shared<std::vector<double>>(
      static_cast<std::size_t>(element_count(*spec.inputs[0])));
  auto results = std::make_shared<std::vector<std::int64_t>>(positions->kept.size());
  add_own(list, spec, "arg_reduce", [=](const KernelOperands& operands) {
    load(in, operands.input(0), values->size(), values->data());
    for (std::size_t index = 0; index < results->size(); ++index) {
      const double* const first = values->data() + positions->kept[index];
      std::size_t best = 0;
      for (std::size_t candidate = 1; candidate < positions->reduced.size(); ++candidate) {
        const double x = first[positions->reduced[candidate]];
        const double y = first[positions->reduced[best]];
        if ((largest ? x > y : x < y) || (last && x == y)) {
          best = candidate;
        }
      }
      (*results)[index] = static_cast<std::int64_t>(best);
    }
    store(out, results->data(), results->size(), operands.output(0));
  });
}

}  // namespace plumb::onednn
