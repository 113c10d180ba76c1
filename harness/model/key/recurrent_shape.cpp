// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/recurrent_shape.hpp"

#include <fmt/ranges.h>

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
}  // namespace plumb::model
