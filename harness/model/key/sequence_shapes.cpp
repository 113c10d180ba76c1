// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/sequence_shapes.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "harness/model/key/shape_rules.hpp"

namespace plumb::model {

bool is_recurrent(const LayerSpec& spec) {
  return spec.op == "rnn" || spec.op == "gru" || spec.op == "lstm";
}

RecurrentShape recurrent_shape(const LayerSpec& spec) {
  const std::vector<std::int64_t>& x = spec.inputs[0]->dims;
  const std::size_t time = spec.integer("layout") == 0 ? 0 : 1;
  RecurrentShape shape;
  shape.steps = x[time];
  shape.batch = x[1 - time];
  shape.input = x[2];
  shape.hidden = spec.inputs[2]->dims[2];
  shape.directions = spec.text("direction") == "bidirectional" ? 2 : 1;
  shape.gates = spec.op == "lstm" ? 4 : (spec.op == "gru" ? 3 : 1);
  return shape;
}

namespace shape_rules {

Dims recurrent_dims(const LayerSpec& spec) {
  require(spec.integer("layout") == 0 || spec.integer("layout") == 1, "layout", "0 or 1 is needed");
  require(dims(spec, 0).size() == 3, "in", "x has rank {}, not 3", dims(spec, 0).size());
  require(dims(spec, 2).size() == 3, "in", "r has rank {}, not 3", dims(spec, 2).size());
  const RecurrentShape shape = recurrent_shape(spec);
  require(shape.hidden > 0 && shape.hidden < (std::int64_t{1} << 32),
          "in",
          "a hidden size of {}",
          shape.hidden);
  const std::int64_t rows = shape.gates * shape.hidden;
  const bool time_first = spec.integer("layout") == 0;
  const Dims state = time_first ? Dims{shape.directions, shape.batch, shape.hidden}
                                : Dims{shape.batch, shape.directions, shape.hidden};
  const auto fits = [&](std::size_t index, const Dims& expected, const char* name) {
    require(!spec.has_input(index) || dims(spec, index) == expected,
            "in",
            "{} is not [{}]",
            name,
            fmt::join(expected, ","));
  };
  fits(1, {shape.directions, rows, shape.input}, "w");
  fits(2, {shape.directions, rows, shape.hidden}, "r");
  fits(3, {shape.directions, 2 * rows}, "the bias");
  fits(4, state, "the first state");
  fits(5, state, "the first cell");
  fits(6, {shape.directions, 3 * shape.hidden}, "the peephole");
  const std::string& given = spec.text("outputs");
  require(spec.outputs.size() == given.size(),
          "out",
          "{} outputs where outputs={} says {}",
          spec.outputs.size(),
          given,
          given.size());
  const Dims sequence = time_first ? Dims{shape.steps, shape.directions, shape.batch, shape.hidden}
                                   : Dims{shape.batch, shape.steps, shape.directions, shape.hidden};
  for (std::size_t i = 1; i < given.size(); ++i) {  // the sequence can only be the first
    require(
        spec.outputs[i].dims == state, "out", "output {} is not [{}]", i, fmt::join(state, ","));
  }
  return given[0] == 'y' ? sequence : state;
}

}  // namespace shape_rules

AttentionShape attention_shape(const LayerSpec& spec) {
  const std::vector<std::int64_t>& q = spec.inputs[0]->dims;
  const std::vector<std::int64_t>& k = spec.inputs[1]->dims;
  const std::vector<std::int64_t>& v = spec.inputs[2]->dims;
  AttentionShape shape;
  shape.heads_apart = q.size() == 4;
  shape.batch = q[0];
  shape.q_heads = spec.integer("q_heads");
  shape.kv_heads = spec.integer("kv_heads");
  shape.queries = q[q.size() - 2];
  shape.head = shape.heads_apart ? q[3] : q[2] / std::max<std::int64_t>(1, shape.q_heads);
  shape.value_head = shape.heads_apart ? v[3] : v[2] / std::max<std::int64_t>(1, shape.kv_heads);
  shape.past = spec.has_input(4) ? spec.inputs[4]->dims[2] : 0;
  shape.keys = shape.past + k[k.size() - 2];
  return shape;
}

std::int64_t attended_pairs(const LayerSpec& spec, const AttentionShape& shape) {
  // No overflow: attention_dims bounds queries and keys.
  const std::int64_t all = shape.queries * shape.keys;
  if (spec.integer("causal") == 0) {
    return all;
  }
  // The first queries see past + 1, past + 2 … keys. The others see all keys.
  const std::int64_t growing = std::min(shape.keys - shape.past, shape.queries);
  return growing * shape.past + growing * (growing + 1) / 2 +
         (shape.queries - growing) * shape.keys;
}

namespace shape_rules {

Dims attention_dims(const LayerSpec& spec) {
  const std::size_t rank = dims(spec, 0).size();
  require(rank == 3 || rank == 4, "in", "q has rank {}, not 3 or 4", rank);
  require(dims(spec, 1).size() == rank && dims(spec, 2).size() == rank,
          "in",
          "q, k and v have different ranks");
  require(
      spec.has_input(4) == spec.has_input(5), "in", "one of past key and past value is missing");
  require(
      !spec.has_input(4) || dims(spec, 4).size() == 4, "in", "the rank of the past key is not 4");
  const std::int64_t q_heads = spec.integer("q_heads");
  const std::int64_t kv_heads = spec.integer("kv_heads");
  require(kv_heads >= 1 && q_heads >= kv_heads && q_heads % kv_heads == 0,
          "q_heads",
          "{} heads of queries for {} of keys",
          q_heads,
          kv_heads);
  const AttentionShape s = attention_shape(spec);
  require(s.queries < (std::int64_t{1} << 31) && s.keys < (std::int64_t{1} << 31),
          "in",
          "{} queries and {} keys",
          s.queries,
          s.keys);
  const auto tensor = [&](std::int64_t heads, std::int64_t length, std::int64_t numbers) {
    return s.heads_apart ? Dims{s.batch, heads, length, numbers}
                         : Dims{s.batch, length, heads * numbers};
  };
  const auto fits = [&](std::size_t index, const Dims& expected, const char* name) {
    require(!spec.has_input(index) || dims(spec, index) == expected,
            "in",
            "{} is not [{}]",
            name,
            fmt::join(expected, ","));
  };
  fits(0, tensor(s.q_heads, s.queries, s.head), "q");
  fits(1, tensor(s.kv_heads, s.new_keys(), s.head), "k");
  fits(2, tensor(s.kv_heads, s.new_keys(), s.value_head), "v");
  fits(4, {s.batch, s.kv_heads, s.past, s.head}, "the past key");
  fits(5, {s.batch, s.kv_heads, s.past, s.value_head}, "the past value");
  if (spec.has_input(3)) {
    const Dims scores{s.batch, s.q_heads, s.queries, s.keys};
    require_broadcast_to(*spec.inputs[3], scores);
    require(!dims(spec, 3).empty() && dims(spec, 3).back() == s.keys,
            "in",
            "a mask that does not span all {} keys",
            s.keys);
  }
  const std::string& letters = spec.text("outputs");
  require(spec.outputs.size() == letters.size(),
          "out",
          "{} outputs where outputs={} says {}",
          spec.outputs.size(),
          letters,
          letters.size());
  for (std::size_t i = 1; i < letters.size(); ++i) {
    const Dims present{s.batch, s.kv_heads, s.keys, letters[i] == 'k' ? s.head : s.value_head};
    require(spec.outputs[i].dims == present,
            "out",
            "output {} is not [{}]",
            i,
            fmt::join(present, ","));
  }
  return tensor(s.q_heads, s.queries, s.value_head);
}

}  // namespace shape_rules

}  // namespace plumb::model
