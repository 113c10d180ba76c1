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

/// Extents of an `attention` layer.
struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;  ///< divides q_heads
  std::int64_t queries = 0;
  std::int64_t past = 0;        ///< keys of earlier steps
  std::int64_t keys = 0;        ///< all of them: past and new
  std::int64_t head = 0;        ///< numbers of a query and of a key
  std::int64_t value_head = 0;  ///< numbers of a value
  bool heads_apart =
      true;  ///< [batch, heads, sequence, numbers], else [batch, sequence, heads·numbers]

  [[nodiscard]] std::int64_t new_keys() const { return keys - past; }
};

/// Reads the extents of a spec that check_spec accepts.
[[nodiscard]] AttentionShape attention_shape(const LayerSpec& spec);

/// Counts the pairs of query and key that meet, in one head and batch entry. In a causal layer the
/// i-th query sees no key behind past + i.
[[nodiscard]] std::int64_t attended_pairs(const LayerSpec& spec, const AttentionShape& shape);

}  // namespace plumb::model
