// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "harness/model/key/attention_shape.hpp"
#include "harness/model/key/spec_check.hpp"
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
  std::optional<Broadcast> mask_;
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

}  // namespace plumb::engine::reference
