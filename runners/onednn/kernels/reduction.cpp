// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

/// Runs of a dense tensor that lie together, and which outputs their elements belong to.
struct Runs {
  std::size_t length = 1;          ///< elements of each run
  bool reduced = false;            ///< whether a run belongs to one output, or to as many as it has
  std::vector<std::size_t> first;  ///< output of each run's first element, in the order of memory
};

/// Returns the longest runs of a tensor that are reduced as a whole or kept as a whole.
Runs find_runs(const model::LayerSpec& spec) {
  const auto& x = spec.inputs[0]->dims;
  std::vector<bool> gone(x.size());
  for (const std::int64_t axis : spec.integers("axes")) {
    require(
        axis >= 0 && axis < static_cast<std::int64_t>(x.size()), spec, "an axis is out of range");
    gone[static_cast<std::size_t>(axis)] = true;
  }
  Runs runs;
  std::size_t axis = x.size();
  runs.reduced = axis > 0 && gone[axis - 1];
  for (; axis > 0 && gone[axis - 1] == runs.reduced; --axis) {
    runs.length *= static_cast<std::size_t>(x[axis - 1]);
  }
  std::size_t outputs = runs.reduced ? 1 : runs.length;
  runs.first = {0};
  for (; axis > 0; --axis) {
    const auto extent = static_cast<std::size_t>(x[axis - 1]);
    std::vector<std::size_t> longer;
    longer.reserve(runs.first.size() * extent);
    for (std::size_t index = 0; index < extent; ++index) {
      for (const std::size_t output : runs.first) {
        longer.push_back(output + (gone[axis - 1] ? 0 : index * outputs));
      }
    }
    outputs *= gone[axis - 1] ? 1 : extent;
    runs.first = std::move(longer);
  }
  require(element_count(spec.outputs[0]) == static_cast<std::int64_t>(outputs),
          spec,
          "the output does not follow from the input and the axes");
  return runs;
}

using Results = std::vector<double>;  // of a reduction, one for each output

/// Dense tensor whose elements are reduced.
struct Reduced {
  const Runs& runs;
  model::DataType type;
  const std::byte* data;
};

/// Merges map(element, output) of all elements into their outputs, which hold `start` at first.
template <typename Map, typename Merge>
void fold(const Reduced& x, double start, Map map, Merge merge, Results& results) {
  constexpr std::size_t kBlock = 512;
  constexpr std::size_t kLanes = 8;  // that do not wait for each other
  std::fill(results.begin(), results.end(), start);
  std::array<double, kBlock> values{};
  const auto bytes = static_cast<std::size_t>(model::element_bytes(x.type));
  const std::byte* source = x.data;
  for (const std::size_t first : x.runs.first) {
    std::array<double, kLanes> lanes{};
    lanes.fill(start);
    for (std::size_t begin = 0; begin < x.runs.length; begin += kBlock) {
      const std::size_t count = std::min(kBlock, x.runs.length - begin);
      load(x.type, source, count, values.data());
      source += count * bytes;
      if (!x.runs.reduced) {
        for (std::size_t i = 0; i < count; ++i) {
          double& result = results[first + begin + i];
          result = merge(result, map(values[i], first + begin + i));
        }
        continue;
      }
      std::size_t i = 0;
      for (; i + kLanes <= count; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          lanes[lane] = merge(lanes[lane], map(values[i + lane], first));
        }
      }
      for (; i < count; ++i) {
        lanes[0] = merge(lanes[0], map(values[i], first));
      }
    }
    if (x.runs.reduced) {
      for (const double lane : lanes) {
        results[first] = merge(results[first], lane);
      }
    }
  }
}

template <typename Map>
void add_up(const Reduced& x, Map map, Results& results) {
  fold(
      x, 0.0, map, [](double sum, double term) { return sum + term; }, results);
}

double itself(double value, std::size_t /*output*/) {
  return value;
}

double squared(double value, std::size_t /*output*/) {
  return value * value;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void find_maxima(const Reduced& x, Results& results) {
  fold(
      x, -kInfinity, itself, [](double most, double v) { return std::max(most, v); }, results);
}

void change(Results& results, double (*by)(double)) {
  std::transform(results.begin(), results.end(), results.begin(), by);
}

void compute_log_sum_exp(const Reduced& x, Results& results) {
  Results most(results.size());
  find_maxima(x, most);
  const auto smaller = [&most](double v, std::size_t output) { return std::exp(v - most[output]); };
  add_up(x, smaller, results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = std::isfinite(most[i]) ? most[i] + std::log(results[i]) : most[i];
  }
}

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

Positions find_positions(const model::LayerSpec& spec, std::int64_t reduced) {
  const auto& x = spec.inputs[0]->dims;
  require(reduced >= 0 && reduced < static_cast<std::int64_t>(x.size()),
          spec,
          "an axis is out of range");
  const auto strides = dense_strides(x);
  Positions positions{{0}, {0}};
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const bool gone = static_cast<std::int64_t>(axis) == reduced;
    extend(gone ? positions.reduced : positions.kept, x[axis], strides[axis]);
  }
  require(element_count(spec.outputs[0]) == static_cast<std::int64_t>(positions.kept.size()),
          spec,
          "the output does not follow from the input and the axes");
  return positions;
}

using Reduction = void (*)(const Reduced& x, Results& results);

Reduction reduction_named(const std::string& fn) {
  struct Row {
    const char* fn;
    Reduction reduce;
  };
  static constexpr Row kRows[] = {
      {"sum", [](const Reduced& x, Results& results) { add_up(x, itself, results); }},
      {"mean",
       [](const Reduced& x, Results& results) {
         add_up(x, itself, results);
         const double elements = static_cast<double>(x.runs.first.size() * x.runs.length);
         for (double& result : results) {
           result /= elements / static_cast<double>(results.size());
         }
       }},
      {"max", find_maxima},
      {"min",
       [](const Reduced& x, Results& results) {
         fold(
             x, kInfinity, itself, [](double a, double v) { return std::min(a, v); }, results);
       }},
      {"prod",
       [](const Reduced& x, Results& results) {
         fold(
             x, 1.0, itself, [](double a, double v) { return a * v; }, results);
       }},
      {"l1",
       [](const Reduced& x, Results& results) {
         add_up(
             x, [](double v, std::size_t) { return std::abs(v); }, results);
       }},
      {"l2",
       [](const Reduced& x, Results& results) {
         add_up(x, squared, results);
         change(results, [](double v) { return std::sqrt(v); });
       }},
      {"sum_square", [](const Reduced& x, Results& results) { add_up(x, squared, results); }},
      {"log_sum",
       [](const Reduced& x, Results& results) {
         add_up(x, itself, results);
         change(results, [](double v) { return std::log(v); });
       }},
      {"log_sum_exp", compute_log_sum_exp},
  };
  for (const Row& row : kRows) {
    if (fn == row.fn) {
      return row.reduce;
    }
  }
  return nullptr;
}

}  // namespace

void fold_reduce(const model::LayerSpec& spec,
                 const Device& /*device*/,
                 VariantBuilder::List& list) {
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
  const Reduction reduce = reduction_named(fn);
  require(reduce != nullptr, spec, "no built-in kernel has the function");
  const auto runs = std::make_shared<const Runs>(find_runs(spec));
  auto results =
      std::make_shared<Results>(static_cast<std::size_t>(element_count(spec.outputs[0])));
  add_own(list, spec, "reduce", [=](const KernelOperands& operands) {
    reduce({*runs, in, operands.input(0)}, *results);
    store(out, results->data(), results->size(), operands.output(0));
  });
}

void find_extreme(const model::LayerSpec& spec,
                  const Device& /*device*/,
                  VariantBuilder::List& list) {
  require_operands(spec, 1);
  const model::DataType in = spec.inputs[0]->dtype;
  const model::DataType out = spec.outputs[0].dtype;
  check_number(in);
  check_number(out);
  const bool largest = spec.text("fn") == "argmax";
  const bool last = spec.integer("select_last") != 0;
  const auto positions =
      std::make_shared<const Positions>(find_positions(spec, spec.integer("axis")));
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
