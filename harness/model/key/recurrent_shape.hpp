// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Extents of an `rnn`, `gru` or `lstm` layer.
struct RecurrentShape {
  std::int64_t steps = 0;  ///< length of the sequence
  std::int64_t batch = 0;
  std::int64_t input = 0;       ///< numbers a step
  std::int64_t hidden = 0;      ///< numbers of the state
  std::int64_t directions = 1;  ///< 2 if bidirectional
  std::int64_t gates = 1;  ///< 1, 3 or 4: rows of hidden numbers in w, r and each half of the bias
};

/// Returns whether a layer's operator is recurrent.
[[nodiscard]] bool is_recurrent(const LayerSpec& spec);

/// Reads the extents from x and r of a spec that check_spec accepts.
[[nodiscard]] RecurrentShape recurrent_shape(const LayerSpec& spec);

}  // namespace plumb::model
