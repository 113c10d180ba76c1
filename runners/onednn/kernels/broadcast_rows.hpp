// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::onednn {

/// Walk over the rows (last dimension) of an output, together with operands that numpy's rule
/// broadcasts to it.
class BroadcastRows {
 public:
  static constexpr std::size_t kMaxOperands = 3;

  /// Positions of the operands at the beginning of one row, in elements.
  struct Row {
    std::array<std::size_t, kMaxOperands> start{};
    std::array<std::size_t, kMaxOperands>
        step{};  ///< 0: the same element along the whole row; else 1

    [[nodiscard]] std::size_t at(std::size_t operand, std::size_t item) const {
      return start[operand] + step[operand] * item;
    }
  };

  /// Prepares the walk over the first `operands` inputs and the first output. Throws Unsupported if
  /// they do not broadcast.
  BroadcastRows(const model::LayerSpec& spec, std::size_t operands);

  [[nodiscard]] std::size_t row_length() const { return length_; }

  /// Calls `visit(row)` for each row in the output's order.
  template <typename Visit>
  void for_each(Visit visit) const {
    if (length_ == 0) {
      return;
    }
    walk(0, Row{{}, last_}, visit);
  }

 private:
  template <typename Visit>
  void walk(std::size_t axis, Row row, Visit& visit) const {
    if (axis == extents_.size()) {
      visit(row);
      return;
    }
    for (std::size_t index = 0; index < extents_[axis]; ++index) {
      walk(axis + 1, row, visit);
      for (std::size_t operand = 0; operand < kMaxOperands; ++operand) {
        row.start[operand] += strides_[axis][operand];
      }
    }
  }

  std::vector<std::size_t> extents_;  // of all axes but the last
  std::vector<std::array<std::size_t, kMaxOperands>> strides_;
  std::array<std::size_t, kMaxOperands> last_{};
  std::size_t length_ = 1;
};

}  // namespace plumb::onednn
