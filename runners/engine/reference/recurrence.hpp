// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/model/key/recurrent_shape.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {

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

}  // namespace plumb::engine::reference
