// SPDX-License-Identifier: Apache-2.0
// Kernels that read whole rows. A block works on one row, then on its next one. Operand 0 is the
// output, 1 the input, 2 and 3 are scale and bias.
namespace plumb::cuda::kernels {

template <class C>
struct Sum {
  static __device__ inline C of(C a, C b) { return a + b; }
};
template <class C>
struct Product {
  static __device__ inline C of(C a, C b) { return a * b; }
};
template <class C>
struct Largest {
  static __device__ inline C of(C a, C b) { return a != a || a > b ? a : b; }
};
template <class C>
struct Smallest {
  static __device__ inline C of(C a, C b) { return a != a || a < b ? a : b; }
};

/// Joins the values of all threads of the block. Every thread gets the result.
template <class Join, class C>
__device__ inline C joined(C value) {
  __shared__ C partial[kThreadsOfRow];
  const int me = static_cast<int>(threadIdx.x);
  partial[me] = value;
  __syncthreads();
  for (int half = kThreadsOfRow / 2; half > 0; half /= 2) {
    if (me < half) {
      partial[me] = Join::of(partial[me], partial[me + half]);
    }
    __syncthreads();
  }
  const C result = partial[0];
  __syncthreads();
  return result;
}

struct Value {
  template <class C>
  static __device__ inline C of(C x, C) {
    return x;
  }
};
struct Magnitude {
  template <class C>
  static __device__ inline C of(C x, C) {
    return x < C(0) ? -x : x;
  }
};
struct Square {
  template <class C>
  static __device__ inline C of(C x, C shift) {
    return (x - shift) * (x - shift);
  }
};
struct Exponential {
  template <class C>
  static __device__ inline C of(C x, C shift) {
    return exp(x - shift);
  }
};

/// Joins `Term::of(x, shift)` over the row whose first element lies at `start`. `neutral` changes
/// no result.
template <class Join, class Term, class C, class Element>
__device__ inline C over_row(
    const void* input, const Space& line, Index start, C shift, C neutral) {
  C total = neutral;
  for (Index i = threadIdx.x; i < line.count; i += kThreadsOfRow) {
    Index at[2];
    locate(line, i, 2, at);
    total = Join::of(total, Term::of(load<C, Element>(input, start + at[1]), shift));
  }
  return joined<Join, C>(total);
}

template <class C, class Element>
__device__ inline C largest_of_row(const void* input, const Space& line, Index start) {
  return over_row<Largest<C>, Value, C, Element>(
      input, line, start, C(0), load<C, Element>(input, start));
}

template <class C, class Element>
__device__ inline void softmax(const Operands& operands, const RowShape& shape) {
  for (Index row = blockIdx.x; row < shape.rows.count; row += gridDim.x) {
    Index start[2];
    locate(shape.rows, row, 2, start);
    // Without the largest number taken off, exp() could overflow.
    const C most = largest_of_row<C, Element>(operands.at[1], shape.line, start[1]);
    const C total = over_row<Sum<C>, Exponential, C, Element>(
        operands.at[1], shape.line, start[1], most, C(0));
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      Index at[2];
      locate(shape.line, i, 2, at);
      const C shifted = load<C, Element>(operands.at[1], start[1] + at[1]) - most;
      store<C, Element>(operands.at[0],
                        start[0] + at[0],
                        shape.flag ? shifted - log(total) : exp(shifted) / total);
    }
  }
}

/// Normalises rows to variance 1 and, with `shape.flag`, mean 0. Then scales them and, with
/// `WithBias`, adds the bias.
template <class C, class Element, class Parameter, bool WithBias>
__device__ inline void normalize(const Operands& operands, const RowShape& shape) {
  const C count = static_cast<C>(shape.line.count);
  for (Index row = blockIdx.x; row < shape.rows.count; row += gridDim.x) {
    Index start[4];
    locate(shape.rows, row, 4, start);
    C mean = C(0);
    if (shape.flag) {
      mean = over_row<Sum<C>, Value, C, Element>(
                 operands.at[1], shape.line, start[1], C(0), C(0)) /
             count;
    }
    const C variance = over_row<Sum<C>, Square, C, Element>(
                           operands.at[1], shape.line, start[1], mean, C(0)) /
                       count;
    const C factor = C(1) / sqrt(variance + static_cast<C>(shape.parameter));
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      Index at[4];
      locate(shape.line, i, 4, at);
      C value = (load<C, Element>(operands.at[1], start[1] + at[1]) - mean) * factor *
                load<C, Parameter>(operands.at[2], start[2] + at[2]);
      if (WithBias) {
        value += load<C, Parameter>(operands.at[3], start[3] + at[3]);
      }
      store<C, Element>(operands.at[0], start[0] + at[0], value);
    }
  }
}

/// Normalises rows to mean 0 and variance 1, then scales and shifts them. With `flag`, what is
/// below 0 then becomes 0. Operands are the result, mean and variance of each row, the input, scale
/// and bias.
template <class C, class Element, class Parameter>
__device__ inline void normalize_batch(const Operands& operands, const RowShape& shape) {
  const C count = static_cast<C>(shape.line.count);
  for (Index row = blockIdx.x; row < shape.rows.count; row += gridDim.x) {
    Index start[6];
    locate(shape.rows, row, 6, start);
    const auto input = [&](Index i) {
      Index at[4];
      locate(shape.line, i, 4, at);
      return load<C, Element>(operands.at[3], start[3] + at[3]);
    };
    C sum = C(0);
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      sum += input(i);
    }
    const C mean = joined<Sum<C>, C>(sum) / count;
    C squares = C(0);
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      squares += Square::of(input(i), mean);
    }
    const C variance = joined<Sum<C>, C>(squares) / count;
    const C factor = load<C, Parameter>(operands.at[4], start[4]) /
                     sqrt(variance + static_cast<C>(shape.parameter));
    const C shift = load<C, Parameter>(operands.at[5], start[5]);
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      Index at[1];
      locate(shape.line, i, 1, at);
      const C value = (input(i) - mean) * factor + shift;
      store<C, Element>(
          operands.at[0], start[0] + at[0], shape.flag && value < C(0) ? C(0) : value);
    }
    if (threadIdx.x == 0) {
      store<C, Parameter>(operands.at[1], start[1], mean);
      store<C, Parameter>(operands.at[2], start[2], variance);
    }
  }
}

// Last step of a reduction, on the joined terms of a row.
struct Plain {
  template <class C>
  static __device__ inline C of(C total, C) {
    return total;
  }
};
struct Mean {
  template <class C>
  static __device__ inline C of(C total, C count) {
    return total / count;
  }
};
struct Root {
  template <class C>
  static __device__ inline C of(C total, C) {
    return sqrt(total);
  }
};
struct Logarithm {
  template <class C>
  static __device__ inline C of(C total, C) {
    return log(total);
  }
};

template <class Join, class Term, class Finish, class C, class Element>
__device__ inline void reduce(const Operands& operands, const RowShape& shape) {
  for (Index row = blockIdx.x; row < shape.rows.count; row += gridDim.x) {
    Index start[2];
    locate(shape.rows, row, 2, start);
    const C neutral = shape.flag ? load<C, Element>(operands.at[1], start[1])
                                 : static_cast<C>(shape.parameter);
    const C total =
        over_row<Join, Term, C, Element>(operands.at[1], shape.line, start[1], C(0), neutral);
    if (threadIdx.x == 0) {
      store<C, Element>(operands.at[0], start[0],
                        Finish::of(total, static_cast<C>(shape.line.count)));
    }
  }
}

template <class C, class Element>
__device__ inline void reduce_log_sum_exp(const Operands& operands, const RowShape& shape) {
  for (Index row = blockIdx.x; row < shape.rows.count; row += gridDim.x) {
    Index start[2];
    locate(shape.rows, row, 2, start);
    const C most = largest_of_row<C, Element>(operands.at[1], shape.line, start[1]);
    const C total = over_row<Sum<C>, Exponential, C, Element>(
        operands.at[1], shape.line, start[1], most, C(0));
    if (threadIdx.x == 0) {
      store<C, Element>(operands.at[0], start[0], most + log(total));
    }
  }
}

/// Finds the place where a row is largest or, with `parameter` below 0, smallest. With `flag`, that
/// is the last such place, else the first.
template <class C, class Element>
__device__ inline void find_extreme(const Operands& operands, const RowShape& shape) {
  __shared__ Index places[kThreadsOfRow];
  const bool smallest = shape.parameter < 0.0;
  const bool last = shape.flag != 0;
  const int me = static_cast<int>(threadIdx.x);
  for (Index row = blockIdx.x; row < shape.rows.count; row += gridDim.x) {
    Index start[2];
    locate(shape.rows, row, 2, start);
    const auto value = [&](Index place) {
      Index at[2];
      locate(shape.line, place, 2, at);
      const C x = load<C, Element>(operands.at[1], start[1] + at[1]);
      return smallest ? -x : x;
    };
    const auto better = [&](Index one, Index other) {
      const C a = value(one);
      const C b = value(other);
      return a == b ? (last ? (one > other ? one : other) : (one < other ? one : other))
                    : (a > b ? one : other);
    };
    Index best = me < shape.line.count ? me : 0;
    for (Index i = best + kThreadsOfRow; i < shape.line.count && me < shape.line.count;
         i += kThreadsOfRow) {
      best = better(best, i);
    }
    places[me] = best;
    __syncthreads();
    for (int half = kThreadsOfRow / 2; half > 0; half /= 2) {
      if (me < half) {
        places[me] = better(places[me], places[me + half]);
      }
      __syncthreads();
    }
    if (me == 0) {
      static_cast<Index*>(operands.at[0])[start[0]] = places[0];
    }
    __syncthreads();
  }
}

}  // namespace plumb::cuda::kernels
