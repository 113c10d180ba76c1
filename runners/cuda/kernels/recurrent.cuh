// SPDX-License-Identifier: Apache-2.0
// Recurrent layers (RNN-14, GRU-14, LSTM-14 of the ONNX operator specification). A block works on
// one entry of the batch in one direction, step by step. A thread works on one unit, and on the
// units a block's width further. Operand 0 holds states, one row a step in the order of the steps.
// After them come the cell, what the reset lets through, and the first state. 1 to 7 are x, w, r,
// bias, h0, c0 and peepholes. Those that are left out are never read.
namespace plumb::cuda::kernels {

/// Offsets at which one block finds its numbers in the operands.
struct RecurrentPlace {
  Index x;       // of this step
  Index matrix;  // row of w and r with the first gate of this direction
  Index bias;    // row of the bias with the same gate
  Index peephole;
};

template <class C, class Element>
__device__ inline C from_input(const Operands& operands,
                               const RecurrentShape& shape,
                               const RecurrentPlace& place,
                               Index gate,
                               Index unit) {
  const Index row = gate * shape.hidden + unit;
  C sum = shape.has_bias ? load<C, Element>(operands.at[4], place.bias + row) : C(0);
  const Index w = (place.matrix + row) * shape.input;
  for (Index k = 0; k < shape.input; ++k) {
    sum += load<C, Element>(operands.at[2], w + k) * load<C, Element>(operands.at[1], place.x + k);
  }
  return sum;
}

template <class C, class Element>
__device__ inline C from_state(const Operands& operands,
                               const RecurrentShape& shape,
                               const RecurrentPlace& place,
                               Index gate,
                               Index unit,
                               const C* state) {
  const Index row = gate * shape.hidden + unit;
  C sum = shape.has_bias ? load<C, Element>(operands.at[4],
                                            place.bias + shape.gates * shape.hidden + row)
                         : C(0);
  const Index r = (place.matrix + row) * shape.hidden;
  for (Index k = 0; k < shape.hidden; ++k) {
    sum += load<C, Element>(operands.at[3], r + k) * state[k];
  }
  return sum;
}

template <class C, class Element>
__device__ inline C gate_sum(const Operands& operands,
                             const RecurrentShape& shape,
                             const RecurrentPlace& place,
                             Index gate,
                             Index unit,
                             const C* state) {
  return from_input<C, Element>(operands, shape, place, gate, unit) +
         from_state<C, Element>(operands, shape, place, gate, unit, state);
}

template <class C, class Element>
__device__ inline C watched(const Operands& operands,
                            const RecurrentShape& shape,
                            const RecurrentPlace& place,
                            Index gate,
                            Index unit,
                            C cell) {
  return shape.has_peephole
             ? cell * load<C, Element>(operands.at[7], place.peephole + gate * shape.hidden + unit)
             : C(0);
}

/// Recurrent cell of one gate.
template <class Function>
struct PlainCell {
  template <class C, class Element>
  static __device__ inline C next(const Operands& operands,
                                  const RecurrentShape& shape,
                                  const RecurrentPlace& place,
                                  Index unit,
                                  const C* state,
                                  const C* /*gated*/,
                                  C* /*cell*/) {
    return Function::of(
        gate_sum<C, Element>(operands, shape, place, 0, unit, state), C(0), C(0));
  }
};

/// Recurrent cell with gates z, r, h. The reset comes before the product with the state or, with
/// `Behind`, after it.
template <bool Behind>
struct GatedCell {
  template <class C, class Element>
  static __device__ inline C next(const Operands& operands,
                                  const RecurrentShape& shape,
                                  const RecurrentPlace& place,
                                  Index unit,
                                  const C* state,
                                  const C* gated,
                                  C* /*cell*/) {
    const C z = sigmoid_value(gate_sum<C, Element>(operands, shape, place, 0, unit, state));
    C recurrent =
        from_state<C, Element>(operands, shape, place, 2, unit, Behind ? state : gated);
    if (Behind) {
      recurrent *= sigmoid_value(gate_sum<C, Element>(operands, shape, place, 1, unit, state));
    }
    const C candidate =
        tanh(from_input<C, Element>(operands, shape, place, 2, unit) + recurrent);
    return (C(1) - z) * candidate + z * state[unit];
  }
};

/// Recurrent cell with gates i, o, f, c and peepholes i, o, f.
struct LongCell {
  template <class C, class Element>
  static __device__ inline C next(const Operands& operands,
                                  const RecurrentShape& shape,
                                  const RecurrentPlace& place,
                                  Index unit,
                                  const C* state,
                                  const C* /*gated*/,
                                  C* cell) {
    const C before = cell[unit];
    const C input =
        sigmoid_value(gate_sum<C, Element>(operands, shape, place, 0, unit, state) +
                      watched<C, Element>(operands, shape, place, 0, unit, before));
    const C forget =
        sigmoid_value(gate_sum<C, Element>(operands, shape, place, 2, unit, state) +
                      watched<C, Element>(operands, shape, place, 2, unit, before));
    const C now = forget * before +
                  input * tanh(gate_sum<C, Element>(operands, shape, place, 3, unit, state));
    cell[unit] = now;
    const C output =
        sigmoid_value(gate_sum<C, Element>(operands, shape, place, 1, unit, state) +
                      watched<C, Element>(operands, shape, place, 1, unit, now));
    return output * tanh(now);
  }
};

template <class Cell, class C, class Element>
__device__ inline void recurrent(const Operands& operands, const RecurrentShape& shape) {
  const Index me = threadIdx.x;
  const Index width = blockDim.x;
  for (Index row = blockIdx.x; row < shape.directions * shape.batch; row += gridDim.x) {
    const Index direction = row / shape.batch;
    const Index entry = row % shape.batch;
    const bool reverse = shape.reverse != 0 || direction == 1;
    C* const states =
        static_cast<C*>(operands.at[0]) + row * (shape.steps + 3) * shape.hidden;
    C* const cell = states + shape.steps * shape.hidden;
    C* const gated = cell + shape.hidden;
    C* const first = gated + shape.hidden;
    const Index given = direction * shape.state_strides[0] + entry * shape.state_strides[1];
    for (Index unit = me; unit < shape.hidden; unit += width) {
      first[unit] = shape.has_state ? load<C, Element>(operands.at[5], given + unit) : C(0);
      cell[unit] = shape.has_cell ? load<C, Element>(operands.at[6], given + unit) : C(0);
    }
    __syncthreads();
    RecurrentPlace place;
    place.matrix = direction * shape.gates * shape.hidden;
    place.bias = 2 * place.matrix;
    place.peephole = direction * 3 * shape.hidden;
    for (Index step = 0; step < shape.steps; ++step) {
      place.x = (reverse ? shape.steps - 1 - step : step) * shape.x_strides[0] +
                entry * shape.x_strides[1];
      const C* const state = step == 0 ? first : states + (step - 1) * shape.hidden;
      if (shape.gates_state) {
        for (Index unit = me; unit < shape.hidden; unit += width) {
          gated[unit] = state[unit] * sigmoid_value(gate_sum<C, Element>(
                                          operands, shape, place, 1, unit, state));
        }
        __syncthreads();
      }
      for (Index unit = me; unit < shape.hidden; unit += width) {
        states[step * shape.hidden + unit] = Cell::template next<C, Element>(
            operands, shape, place, unit, state, gated, cell);
      }
      __syncthreads();
    }
  }
}

/// Copies numbers, and converts them from the type that is computed in.
template <class C, class Element>
__device__ inline void copy_as(const Operands& operands, const MapShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[2];
    locate(shape.space, i, 2, at);
    store<C, Element>(operands.at[0],
                      at[0] + shape.starts[0],
                      load<C, C>(operands.at[1], at[1] + shape.starts[1]));
  }
}

}  // namespace plumb::cuda::kernels
