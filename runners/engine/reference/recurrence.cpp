// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/recurrence.hpp"

#include <algorithm>
#include <cmath>

#include "runners/engine/reference/matrix_panel.hpp"

namespace plumb::engine::reference {
namespace {

std::size_t size(std::int64_t extent) {
  return static_cast<std::size_t>(extent);
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace

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

}  // namespace plumb::engine::reference
