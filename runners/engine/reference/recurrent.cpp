// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/spec_check.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

/// One direction of an `rnn`, `gru` or `lstm` layer, computed step by step.
///
/// It covers some entries of the batch, which do not depend on each other. Refers to the operands
/// it was made with.
class Recurrence {
 public:
  /// Takes the initial states of `entries`. check_spec() must have accepted the spec.
  Recurrence(const model::LayerSpec& spec,
             Operands operands,
             std::size_t direction,
             std::vector<std::size_t> entries);

  /// Advances by one step and returns its position in the sequence. The n-th call reads the n-th
  /// element in the direction's order.
  std::size_t advance();

  /// Returns the hidden states after the last step, entries × hidden.
  [[nodiscard]] const std::vector<double>& hidden() const { return hidden_; }
  [[nodiscard]] const std::vector<double>& cell() const { return cell_; }

 private:
  /// Matrix of `outputs` rows, packed so that a vector is multiplied by all rows at once.
  struct Packed {
    std::size_t outputs = 0;
    std::size_t depth = 0;
    std::vector<double> panels;
  };
  static Packed packed(const double* matrix, std::size_t outputs, std::size_t depth);
  /// Adds vectors · matrixᵀ to `result`, both dense.
  void multiply(const Packed& matrix,
                const std::vector<double>& vectors,
                std::vector<double>& result) const;
  /// Returns a gate's w·x + b.
  [[nodiscard]] std::vector<double> from_input(std::size_t gate) const;
  /// Returns a gate's r·h + b.
  [[nodiscard]] std::vector<double> from_state(std::size_t gate,
                                               const std::vector<double>& state) const;
  [[nodiscard]] std::vector<double> with_bias(std::size_t row) const;
  [[nodiscard]] double peephole(std::size_t gate, std::size_t at) const;
  void read_input(std::size_t position);
  [[nodiscard]] std::vector<double> read_state(const Numbers& state) const;

  void advance_rnn();
  void advance_gru();
  void advance_lstm();

  const model::LayerSpec& spec_;
  model::RecurrentShape shape_;
  Operands operands_;
  std::size_t direction_;
  std::vector<std::size_t> entries_;
  bool reverse_;
  std::vector<Packed> w_;  // one a gate
  std::vector<Packed> r_;
  std::vector<double> x_;  // entries × input
  std::vector<double> hidden_;
  std::vector<double> cell_;
  std::size_t done_ = 0;
};

/// Positions of the states of single batch entries in a recurrent layer's outputs.
class RecurrentPlaces {
 public:
  explicit RecurrentPlaces(const model::LayerSpec& spec)
      : shape_(model::recurrent_shape(spec)), time_first_(spec.integer("layout") == 0) {}

  [[nodiscard]] std::size_t sequence(std::size_t position,
                                     std::size_t direction,
                                     std::size_t entry) const;
  [[nodiscard]] std::size_t state(std::size_t direction, std::size_t entry) const;

 private:
  model::RecurrentShape shape_;
  bool time_first_;
};

std::size_t size(std::int64_t extent) {
  return static_cast<std::size_t>(extent);
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

std::size_t RecurrentPlaces::sequence(std::size_t position,
                                      std::size_t direction,
                                      std::size_t entry) const {
  const std::size_t directions = size(shape_.directions);
  const std::size_t row = time_first_
                              ? (position * directions + direction) * size(shape_.batch) + entry
                              : (entry * size(shape_.steps) + position) * directions + direction;
  return row * size(shape_.hidden);
}

std::size_t RecurrentPlaces::state(std::size_t direction, std::size_t entry) const {
  const std::size_t row = time_first_ ? direction * size(shape_.batch) + entry
                                      : entry * size(shape_.directions) + direction;
  return row * size(shape_.hidden);
}

Recurrence::Packed Recurrence::packed(const double* matrix,
                                      std::size_t outputs,
                                      std::size_t depth) {
  Packed result{outputs, depth, {}};
  const std::size_t count = (outputs + kPanelColumns - 1) / kPanelColumns;
  result.panels.assign(count * depth * kPanelColumns, 0.0);
  for (std::size_t row = 0; row < outputs; ++row) {
    double* panel = result.panels.data() + row / kPanelColumns * depth * kPanelColumns;
    for (std::size_t k = 0; k < depth; ++k) {
      panel[k * kPanelColumns + row % kPanelColumns] = matrix[row * depth + k];
    }
  }
  return result;
}

void Recurrence::multiply(const Packed& matrix,
                          const std::vector<double>& vectors,
                          std::vector<double>& result) const {
  for (std::size_t first = 0; first < matrix.outputs; first += kPanelColumns) {
    multiply_panel(vectors.data(),
                   entries_.size(),
                   matrix.depth,
                   matrix.panels.data() + first * matrix.depth,
                   result.data() + first,
                   matrix.outputs,
                   std::min(kPanelColumns, matrix.outputs - first));
  }
}

Recurrence::Recurrence(const model::LayerSpec& spec,
                       Operands operands,
                       std::size_t direction,
                       std::vector<std::size_t> entries)
    : spec_(spec),
      shape_(model::recurrent_shape(spec)),
      operands_(operands),
      direction_(direction),
      entries_(std::move(entries)),
      reverse_(spec.text("direction") == "reverse" || direction == 1) {
  const std::size_t hidden = size(shape_.hidden);
  const std::size_t input = size(shape_.input);
  const std::size_t gates = size(shape_.gates);
  for (std::size_t gate = 0; gate < gates; ++gate) {
    const std::size_t row = (direction * gates + gate) * hidden;
    w_.push_back(packed(operands[1].values.data() + row * input, hidden, input));
    r_.push_back(packed(operands[2].values.data() + row * hidden, hidden, hidden));
  }
  x_.resize(entries_.size() * input);
  hidden_ = read_state(spec.has_input(4) ? operands[4] : Numbers{});
  cell_ = read_state(spec.has_input(5) ? operands[5] : Numbers{});
}

std::vector<double> Recurrence::read_state(const Numbers& state) const {
  const std::size_t hidden = size(shape_.hidden);
  std::vector<double> result(entries_.size() * hidden, 0.0);
  const RecurrentPlaces places(spec_);
  for (std::size_t i = 0; !state.values.empty() && i < entries_.size(); ++i) {
    const std::size_t place = places.state(direction_, entries_[i]);
    std::copy_n(state.values.begin() + static_cast<std::ptrdiff_t>(place),
                hidden,
                result.begin() + static_cast<std::ptrdiff_t>(i * hidden));
  }
  return result;
}

void Recurrence::read_input(std::size_t position) {
  const std::size_t input = size(shape_.input);
  const bool time_first = spec_.integer("layout") == 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t row = time_first ? position * size(shape_.batch) + entries_[i]
                                       : entries_[i] * size(shape_.steps) + position;
    std::copy_n(operands_[0].values.begin() + static_cast<std::ptrdiff_t>(row * input),
                input,
                x_.begin() + static_cast<std::ptrdiff_t>(i * input));
  }
}

std::vector<double> Recurrence::with_bias(std::size_t row) const {
  const std::size_t hidden = size(shape_.hidden);
  std::vector<double> result(entries_.size() * hidden, 0.0);
  if (spec_.has_input(3)) {
    const double* bias =
        operands_[3].values.data() + (direction_ * 2 * size(shape_.gates) + row) * hidden;
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = bias[i % hidden];
    }
  }
  return result;
}

std::vector<double> Recurrence::from_input(std::size_t gate) const {
  std::vector<double> result = with_bias(gate);
  multiply(w_[gate], x_, result);
  return result;
}

std::vector<double> Recurrence::from_state(std::size_t gate,
                                           const std::vector<double>& state) const {
  std::vector<double> result = with_bias(size(shape_.gates) + gate);
  multiply(r_[gate], state, result);
  return result;
}

double Recurrence::peephole(std::size_t gate, std::size_t at) const {
  if (!spec_.has_input(6)) {
    return 0.0;
  }
  const std::size_t hidden = size(shape_.hidden);
  return operands_[6].values[(direction_ * 3 + gate) * hidden + at % hidden];
}

// The equations of RNN-14, GRU-14 and LSTM-14 of the ONNX operator specification.

void Recurrence::advance_rnn() {
  const std::string& fn = spec_.text("fn");
  const std::vector<double> x = from_input(0);
  const std::vector<double> h = from_state(0, hidden_);
  for (std::size_t i = 0; i < hidden_.size(); ++i) {
    const double sum = x[i] + h[i];
    hidden_[i] = fn == "relu" ? std::max(sum, 0.0) : (fn == "tanh" ? std::tanh(sum) : sigmoid(sum));
  }
}

void Recurrence::advance_gru() {  // gates z, r, h
  const std::vector<double> zx = from_input(0);
  const std::vector<double> zh = from_state(0, hidden_);
  const std::vector<double> rx = from_input(1);
  const std::vector<double> rh = from_state(1, hidden_);
  const std::vector<double> hx = from_input(2);
  const bool linear_before_reset = spec_.integer("linear_before_reset") != 0;
  std::vector<double> reset(hidden_.size());
  for (std::size_t i = 0; i < hidden_.size(); ++i) {
    reset[i] = sigmoid(rx[i] + rh[i]);
  }
  std::vector<double> gated = reset;
  for (std::size_t i = 0; i < hidden_.size(); ++i) {
    gated[i] *= hidden_[i];
  }
  const std::vector<double> hh = from_state(2, linear_before_reset ? hidden_ : gated);
  for (std::size_t i = 0; i < hidden_.size(); ++i) {
    const double z = sigmoid(zx[i] + zh[i]);
    const double candidate = std::tanh(hx[i] + (linear_before_reset ? reset[i] * hh[i] : hh[i]));
    hidden_[i] = (1.0 - z) * candidate + z * hidden_[i];
  }
}

void Recurrence::advance_lstm() {  // gates i, o, f, c; peepholes i, o, f
  const std::vector<double> ix = from_input(0);
  const std::vector<double> ih = from_state(0, hidden_);
  const std::vector<double> ox = from_input(1);
  const std::vector<double> oh = from_state(1, hidden_);
  const std::vector<double> fx = from_input(2);
  const std::vector<double> fh = from_state(2, hidden_);
  const std::vector<double> cx = from_input(3);
  const std::vector<double> ch = from_state(3, hidden_);
  for (std::size_t i = 0; i < hidden_.size(); ++i) {
    const double input = sigmoid(ix[i] + ih[i] + peephole(0, i) * cell_[i]);
    const double forget = sigmoid(fx[i] + fh[i] + peephole(2, i) * cell_[i]);
    cell_[i] = forget * cell_[i] + input * std::tanh(cx[i] + ch[i]);
    const double output = sigmoid(ox[i] + oh[i] + peephole(1, i) * cell_[i]);
    hidden_[i] = output * std::tanh(cell_[i]);
  }
}

std::size_t Recurrence::advance() {
  const std::size_t position = reverse_ ? size(shape_.steps) - 1 - done_ : done_;
  ++done_;
  read_input(position);
  if (spec_.op == "rnn") {
    advance_rnn();
  } else if (spec_.op == "gru") {
    advance_gru();
  } else {
    advance_lstm();
  }
  return position;
}

void copy_rows(const std::vector<double>& from, std::size_t row, std::size_t hidden, double* to) {
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * hidden), hidden, to);
}

model::RecurrentShape checked_shape(const model::LayerSpec& spec) {
  const std::optional<model::SpecProblem> problem = model::check_spec(spec);
  require(!problem, spec, problem ? problem->text : std::string());
  return model::recurrent_shape(spec);
}

/// Part of a layer that is computed to take samples of it.
struct Part {
  std::vector<std::size_t> entries;  ///< of the batch
  std::size_t steps = 0;             ///< from the beginning of each direction
};

/// Chooses a part that takes at most a million multiply-accumulates for each sample. It is all
/// steps of some entries or, for long sequences, the first steps of one. Outputs that only the last
/// step writes need all steps.
Part affordable_part(const model::LayerSpec& spec, std::size_t count, const RandomStream& random) {
  constexpr double kMacsASample = 1e6;
  const model::RecurrentShape shape = model::recurrent_shape(spec);
  const double one = static_cast<double>(shape.directions * shape.gates) *
                     static_cast<double>(shape.hidden) *
                     static_cast<double>(shape.input + shape.hidden);
  const double affordable =
      std::max(1.0, kMacsASample * static_cast<double>(count) / std::max(one, 1.0));
  const auto steps = static_cast<double>(shape.steps);
  const bool whole = steps <= affordable || spec.text("outputs")[0] != 'y';
  Part part;
  part.steps = static_cast<std::size_t>(whole ? steps : affordable);
  const auto batch = static_cast<std::size_t>(shape.batch);
  const double fitting = std::min(affordable / std::max(steps, 1.0), static_cast<double>(batch));
  const std::size_t entries = std::max<std::size_t>(1, static_cast<std::size_t>(fitting));
  for (std::size_t i = 0; i < entries && batch > 0; ++i) {
    part.entries.push_back(entries == 1 ? static_cast<std::size_t>(random.below(0, batch))
                                        : i * (batch - 1) / (entries - 1));
  }
  return part;
}

}  // namespace

std::vector<Numbers> recurrent(const model::LayerSpec& spec, Operands operands) {
  const model::RecurrentShape shape = checked_shape(spec);
  const RecurrentPlaces places(spec);
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  std::vector<std::size_t> entries(static_cast<std::size_t>(shape.batch));
  std::iota(entries.begin(), entries.end(), std::size_t{0});
  const std::string& letters = spec.text("outputs");
  std::vector<Numbers> outputs;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    outputs.push_back(zeros_like_output(spec, i));
  }
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.directions); ++d) {
    Recurrence recurrence(spec, operands, d, entries);
    for (std::int64_t step = 0; step < shape.steps; ++step) {
      const std::size_t position = recurrence.advance();
      for (std::size_t n = 0; letters[0] == 'y' && n < entries.size(); ++n) {
        copy_rows(recurrence.hidden(),
                  n,
                  hidden,
                  outputs[0].values.data() + places.sequence(position, d, n));
      }
    }
    for (std::size_t i = 0; i < letters.size(); ++i) {
      for (std::size_t n = 0; letters[i] != 'y' && n < entries.size(); ++n) {
        copy_rows(letters[i] == 'h' ? recurrence.hidden() : recurrence.cell(),
                  n,
                  hidden,
                  outputs[i].values.data() + places.state(d, n));
      }
    }
  }
  return outputs;
}

std::vector<SampledElement> recurrent_samples(const model::LayerSpec& spec,
                                              Operands operands,
                                              std::size_t count,
                                              std::uint64_t seed) {
  const model::RecurrentShape shape = checked_shape(spec);
  const RecurrentPlaces places(spec);
  const RandomStream random(seed);
  const Part part = affordable_part(spec, count, random);
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  const std::size_t rows = std::max<std::size_t>(1, part.steps * part.entries.size()) *
                           static_cast<std::size_t>(shape.directions);
  const std::size_t each = std::min(hidden, std::max<std::size_t>(16, count / rows));
  std::vector<SampledElement> samples;
  std::uint64_t draw = 1;
  const auto add = [&](std::size_t output, std::size_t place, const double* row) {
    const auto first = static_cast<std::size_t>(random.below(draw++, hidden));
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t at = (first + i * (hidden / each)) % hidden;
      samples.push_back({output, place + at, row[at]});
    }
  };
  const std::string& letters = spec.text("outputs");
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.directions); ++d) {
    Recurrence recurrence(spec, operands, d, part.entries);
    for (std::size_t step = 0; step < part.steps; ++step) {
      const std::size_t position = recurrence.advance();
      for (std::size_t n = 0; letters[0] == 'y' && n < part.entries.size(); ++n) {
        add(0,
            places.sequence(position, d, part.entries[n]),
            recurrence.hidden().data() + n * hidden);
      }
    }
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const bool known = letters[i] != 'y' && part.steps == static_cast<std::size_t>(shape.steps);
      for (std::size_t n = 0; known && n < part.entries.size(); ++n) {
        const std::vector<double>& state =
            letters[i] == 'h' ? recurrence.hidden() : recurrence.cell();
        add(i, places.state(d, part.entries[n]), state.data() + n * hidden);
      }
    }
  }
  return samples;
}

}  // namespace plumb::engine::reference
