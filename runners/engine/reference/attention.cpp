// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/spec_check.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t size(std::int64_t extent) {
  return static_cast<std::size_t>(extent);
}

/// Attention of ONNX (Attention-23 and -24, without windows), computed row by row. A row belongs to
/// one query of one head.
class Attention {
 public:
  Attention(const model::LayerSpec& spec, Operands operands)
      : spec_(spec), operands_(operands), s_(checked_shape(spec)) {
    if (spec.has_input(3)) {
      mask_.emplace(spec, operands[3].dims, Dims{s_.batch, s_.q_heads, s_.queries, s_.keys});
    }
  }

  [[nodiscard]] const model::AttentionShape& shape() const { return s_; }
  [[nodiscard]] std::size_t rows() const { return size(s_.batch * s_.q_heads * s_.queries); }

  /// Returns the position of a row in the output. Rows count in the order batch, head, query.
  [[nodiscard]] std::size_t place(std::size_t row) const {
    const std::size_t query = row % size(s_.queries);
    const std::size_t head = row / size(s_.queries) % size(s_.q_heads);
    const std::size_t batch = row / size(s_.queries) / size(s_.q_heads);
    return start(batch, head, query, s_.q_heads, s_.queries, s_.value_head);
  }

  /// Computes a row, which has as many numbers as a value.
  [[nodiscard]] std::vector<double> compute(std::size_t row) const {
    const std::size_t query = row % size(s_.queries);
    const std::size_t head = row / size(s_.queries) % size(s_.q_heads);
    const std::size_t batch = row / size(s_.queries) / size(s_.q_heads);
    const std::size_t group = head / size(s_.q_heads / s_.kv_heads);
    const double* q =
        operands_[0].values.data() + start(batch, head, query, s_.q_heads, s_.queries, s_.head);
    std::vector<double> weights(size(s_.keys));
    double most = -kInfinity;
    for (std::size_t key = 0; key < weights.size(); ++key) {
      weights[key] = score(q, batch, group, key) + bias(row, query, key);
      most = std::max(most, weights[key]);
    }
    std::vector<double> result(size(s_.value_head), 0.0);
    if (most == -kInfinity) {
      return result;  // the query has no key
    }
    double total = 0.0;
    for (double& weight : weights) {
      weight = std::exp(weight - most);
      total += weight;
    }
    for (std::size_t key = 0; key < weights.size(); ++key) {
      const double* value = number(2, 5, batch, group, key, s_.value_head);
      for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] += weights[key] / total * value[i];
      }
    }
    return result;
  }

  /// Returns an element of the keys (operand 1) or values (operand 2) of all steps, earlier ones
  /// included. They are dense [batch, heads, keys, numbers].
  [[nodiscard]] double present(std::size_t operand, std::size_t element) const {
    const std::int64_t numbers = operand == 1 ? s_.head : s_.value_head;
    const std::size_t row = element / size(numbers);
    const std::size_t key = row % size(s_.keys);
    const std::size_t group = row / size(s_.keys) % size(s_.kv_heads);
    const std::size_t batch = row / size(s_.keys) / size(s_.kv_heads);
    return number(operand, operand + 3, batch, group, key, numbers)[element % size(numbers)];
  }

 private:
  static model::AttentionShape checked_shape(const model::LayerSpec& spec) {
    const std::optional<model::SpecProblem> problem = model::check_spec(spec);
    require(!problem, spec, problem ? problem->text : std::string());
    return model::attention_shape(spec);
  }

  [[nodiscard]] std::size_t start(std::size_t batch,
                                  std::size_t head,
                                  std::size_t position,
                                  std::int64_t heads,
                                  std::int64_t length,
                                  std::int64_t numbers) const {
    const std::size_t row = s_.heads_apart ? (batch * size(heads) + head) * size(length) + position
                                           : (batch * size(length) + position) * size(heads) + head;
    return row * size(numbers);
  }

  /// Returns a key or value, from operand `past` for earlier steps and from `operand` for this one.
  [[nodiscard]] const double* number(std::size_t operand,
                                     std::size_t past,
                                     std::size_t batch,
                                     std::size_t group,
                                     std::size_t key,
                                     std::int64_t numbers) const {
    if (key < size(s_.past)) {
      return operands_[past].values.data() +
             ((batch * size(s_.kv_heads) + group) * size(s_.past) + key) * size(numbers);
    }
    return operands_[operand].values.data() +
           start(batch, group, key - size(s_.past), s_.kv_heads, s_.new_keys(), numbers);
  }

  [[nodiscard]] double score(const double* q,
                             std::size_t batch,
                             std::size_t group,
                             std::size_t key) const {
    const double* k = number(1, 4, batch, group, key, s_.head);
    double sum = 0.0;
    for (std::size_t i = 0; i < size(s_.head); ++i) {
      sum += q[i] * k[i];
    }
    sum *= spec_.real("scale");
    const double cap = spec_.real("softcap");
    return cap > 0.0 ? cap * std::tanh(sum / cap) : sum;
  }

  [[nodiscard]] double bias(std::size_t row, std::size_t query, std::size_t key) const {
    if (spec_.integer("causal") != 0 && key > size(s_.past) + query) {
      return -kInfinity;
    }
    if (!mask_) {
      return 0.0;
    }
    const double value = operands_[3].values[(*mask_)(row * size(s_.keys) + key)];
    if (spec_.inputs[3]->dtype == model::DataType::kBool) {
      return value != 0.0 ? 0.0 : -kInfinity;
    }
    return value;
  }

  const model::LayerSpec& spec_;
  Operands operands_;
  model::AttentionShape s_;
  std::optional<Numbers::Broadcasting> mask_;
};

}  // namespace

std::vector<Numbers> attention(const model::LayerSpec& spec, Operands operands) {
  const Attention layer(spec, operands);
  std::vector<Numbers> outputs;
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    outputs.push_back(zeros_like_output(spec, i));
  }
  for (std::size_t row = 0; row < layer.rows(); ++row) {
    const std::vector<double> result = layer.compute(row);
    std::copy(result.begin(),
              result.end(),
              outputs[0].values.begin() + static_cast<std::ptrdiff_t>(layer.place(row)));
  }
  const std::string& letters = spec.text("outputs");
  for (std::size_t i = 1; i < letters.size(); ++i) {
    for (std::size_t element = 0; element < outputs[i].values.size(); ++element) {
      outputs[i].values[element] = layer.present(letters[i] == 'k' ? 1 : 2, element);
    }
  }
  return outputs;
}

std::vector<SampledElement> attention_samples(const model::LayerSpec& spec,
                                              Operands operands,
                                              std::size_t count,
                                              std::uint64_t seed) {
  const Attention layer(spec, operands);
  const RandomStream random(seed);
  const std::size_t numbers = std::max<std::size_t>(1, size(layer.shape().value_head));
  const std::size_t wanted = std::min(layer.rows(), std::max<std::size_t>(2, count / numbers));
  std::set<std::size_t> rows{0, layer.rows() - 1};
  for (std::uint64_t draw = 0; rows.size() < wanted; ++draw) {
    rows.insert(static_cast<std::size_t>(random.below(draw, layer.rows())));
  }
  std::vector<SampledElement> samples;
  for (const std::size_t row : rows) {
    const std::vector<double> result = layer.compute(row);
    for (std::size_t i = 0; i < result.size(); ++i) {
      samples.push_back({0, layer.place(row) + i, result[i]});
    }
  }
  const std::string& letters = spec.text("outputs");
  for (std::size_t i = 1; i < letters.size(); ++i) {
    const auto total = static_cast<std::size_t>(element_count(spec.outputs[i]));
    const std::size_t step = std::max<std::size_t>(1, total / count);
    for (std::size_t element = random.below(i, step); element < total; element += step) {
      samples.push_back({i, element, layer.present(letters[i] == 'k' ? 1 : 2, element)});
    }
  }
  return samples;
}

// The gradient of attention follows from that of softmax, with P = exp(scale · q·k − statistics)
// over the keys that a query sees: dv = Σ P·dy over queries. With dS = P · (dy·v − dy·y) · scale,
// dq = Σ dS·k over keys and dk = Σ dS·q over queries (Dao et al. 2022, appendix B.2).

namespace {

enum Operand : std::size_t { kGradient, kQuery, kKey, kValue, kResult, kStatistics };

/// Position of a vector of numbers within its tensor.
struct Place {
  std::size_t batch = 0;
  std::size_t head = 0;
  std::size_t position = 0;
};

/// Gradients of attention, computed row by row. A row belongs to one query, or to one key and its
/// value.
class AttentionGradient {
 public:
  AttentionGradient(const model::LayerSpec& spec, Operands operands)
      : operands_(operands), s_(checked_shape(spec)) {
    scale_ = spec.real("scale");
    causal_ = spec.integer("causal") != 0;
  }

  [[nodiscard]] const model::AttentionShape& shape() const { return s_; }
  [[nodiscard]] std::size_t query_rows() const { return size(s_.batch * s_.q_heads * s_.queries); }
  [[nodiscard]] std::size_t key_rows() const { return size(s_.batch * s_.kv_heads * s_.keys); }

  /// Returns the position of a row in the output (0: dq, 1: dk, 2: dv). Rows count in the order
  /// batch, head, position.
  [[nodiscard]] std::size_t place(std::size_t output, std::size_t row) const {
    const bool of_query = output == 0;
    return start(place_of(row, of_query), of_query, output == 2 ? s_.value_head : s_.head);
  }

  [[nodiscard]] std::vector<double> query_gradient(std::size_t row) const {
    const Place query = place_of(row, true);
    std::vector<double> result(size(s_.head), 0.0);
    for (std::size_t key = 0; key < size(s_.keys); ++key) {
      const Pair pair = pair_of(query, key);
      const double* const k = at(kKey, {query.batch, group_of(query.head), key}, s_.head);
      for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] += pair.slope * k[i];
      }
    }
    return result;
  }

  /// Returns the gradient dk of a key, or dv of its value.
  [[nodiscard]] std::vector<double> key_gradient(std::size_t row, bool of_value) const {
    const Place key = place_of(row, false);
    const std::size_t sharing = size(s_.q_heads / s_.kv_heads);
    std::vector<double> result(size(of_value ? s_.value_head : s_.head), 0.0);
    for (std::size_t head = key.head * sharing; head < (key.head + 1) * sharing; ++head) {
      for (std::size_t position = 0; position < size(s_.queries); ++position) {
        const Place query{key.batch, head, position};
        const Pair pair = pair_of(query, key.position);
        const double* const from =
            of_value ? at(kGradient, query, s_.value_head) : at(kQuery, query, s_.head);
        for (std::size_t i = 0; i < result.size(); ++i) {
          result[i] += (of_value ? pair.weight : pair.slope) * from[i];
        }
      }
    }
    return result;
  }

 private:
  /// Weight of a query on a key, and the gradient of their product before it was scaled.
  struct Pair {
    double weight = 0.0;
    double slope = 0.0;
  };

  static model::AttentionShape checked_shape(const model::LayerSpec& spec) {
    const std::optional<model::SpecProblem> problem = model::check_spec(spec);
    require(!problem, spec, problem ? problem->text : std::string());
    return model::attention_shape(model::forward_layer(spec));
  }

  [[nodiscard]] Place place_of(std::size_t row, bool of_query) const {
    const std::size_t length = size(of_query ? s_.queries : s_.keys);
    const std::size_t heads = size(of_query ? s_.q_heads : s_.kv_heads);
    return {row / length / heads, row / length % heads, row % length};
  }

  [[nodiscard]] std::size_t start(const Place& place, bool of_query, std::int64_t numbers) const {
    const std::size_t length = size(of_query ? s_.queries : s_.keys);
    const std::size_t heads = size(of_query ? s_.q_heads : s_.kv_heads);
    const std::size_t row = s_.heads_apart
                                ? (place.batch * heads + place.head) * length + place.position
                                : (place.batch * length + place.position) * heads + place.head;
    return row * size(numbers);
  }

  [[nodiscard]] const double* at(Operand operand, const Place& place, std::int64_t numbers) const {
    const bool of_query = operand != kKey && operand != kValue;
    return operands_[operand].values.data() + start(place, of_query, numbers);
  }

  [[nodiscard]] std::size_t group_of(std::size_t head) const {
    return head / size(s_.q_heads / s_.kv_heads);
  }

  [[nodiscard]] Pair pair_of(const Place& query, std::size_t key) const {
    if (causal_ && key > query.position) {
      return {};
    }
    const Place other{query.batch, group_of(query.head), key};
    const auto product = [](const double* a, const double* b, std::int64_t numbers) {
      double sum = 0.0;
      for (std::size_t i = 0; i < size(numbers); ++i) {
        sum += a[i] * b[i];
      }
      return sum;
    };
    const double score =
        scale_ * product(at(kQuery, query, s_.head), at(kKey, other, s_.head), s_.head);
    const std::size_t row =
        (query.batch * size(s_.q_heads) + query.head) * size(s_.queries) + query.position;
    const double* const dy = at(kGradient, query, s_.value_head);
    const double fed = product(dy, at(kValue, other, s_.value_head), s_.value_head);
    const double mean = product(dy, at(kResult, query, s_.value_head), s_.value_head);
    const double weight = std::exp(score - operands_[kStatistics].values[row]);
    return {weight, weight * (fed - mean) * scale_};
  }

  Operands operands_;
  model::AttentionShape s_;
  double scale_ = 1.0;
  bool causal_ = false;
};

/// Computes a row of an output and calls `visit(position in the output, numbers)`.
template <typename Visit>
void visit_row(const AttentionGradient& layer, std::size_t output, std::size_t row, Visit&& visit) {
  visit(layer.place(output, row),
        output == 0 ? layer.query_gradient(row) : layer.key_gradient(row, output == 2));
}

}  // namespace

std::vector<Numbers> attention_gradient(const model::LayerSpec& spec, Operands operands) {
  const AttentionGradient layer(spec, operands);
  std::vector<Numbers> outputs;
  for (std::size_t output = 0; output < 3; ++output) {
    Numbers& numbers = outputs.emplace_back(zeros_like_output(spec, output));
    const std::size_t rows = output == 0 ? layer.query_rows() : layer.key_rows();
    for (std::size_t row = 0; row < rows; ++row) {
      visit_row(layer, output, row, [&](std::size_t begin, const std::vector<double>& values) {
        std::copy(values.begin(),
                  values.end(),
                  numbers.values.begin() + static_cast<std::ptrdiff_t>(begin));
      });
    }
  }
  return outputs;
}

std::vector<SampledElement> attention_gradient_samples(const model::LayerSpec& spec,
                                                       Operands operands,
                                                       std::size_t count,
                                                       std::uint64_t seed) {
  const AttentionGradient layer(spec, operands);
  std::vector<SampledElement> samples;
  for (std::size_t output = 0; output < 3; ++output) {
    const RandomStream random(seed + output);
    const std::size_t total = output == 0 ? layer.query_rows() : layer.key_rows();
    if (total == 0) {
      continue;
    }
    const std::int64_t numbers = output == 2 ? layer.shape().value_head : layer.shape().head;
    const std::size_t wanted = std::min(
        total, std::max<std::size_t>(2, count / 3 / std::max<std::size_t>(1, size(numbers))));
    std::set<std::size_t> rows{0, total - 1};
    for (std::uint64_t draw = 0; rows.size() < wanted; ++draw) {
      rows.insert(static_cast<std::size_t>(random.below(draw, total)));
    }
    for (const std::size_t row : rows) {
      visit_row(layer, output, row, [&](std::size_t begin, const std::vector<double>& values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          samples.push_back({output, begin + i, values[i]});
        }
      });
    }
  }
  return samples;
}

}  // namespace plumb::engine::reference
