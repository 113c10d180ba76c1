// SPDX-License-Identifier: Apache-2.0
// Gradient of attention. A block works on one query of one head, or on one key and its value with
// all queries that share them, a block's width of pairs at a time. Strides are the forward layer's:
// of y and dy (0), q and dq (1), k and dk (2), v and dv (3).
namespace plumb::cuda::kernels {

/// Operands that the gradient kernels read.
struct AttentionGradientOperands {
  const void* gradient;  // of the result
  const void* query;
  const void* key;
  const void* value;
  const void* result;
  const void* statistics;  // logarithm of each query's sum of exponents
};

__device__ inline AttentionGradientOperands gradient_operands(const Operands& operands, int first) {
  return {operands.at[first],
          operands.at[first + 1],
          operands.at[first + 2],
          operands.at[first + 3],
          operands.at[first + 4],
          operands.at[first + 5]};
}

__device__ inline Index place_of(
    const AttentionShape& shape, int which, Index batch, Index head, Index position) {
  const Index* const strides = shape.strides[which];
  return batch * strides[0] + head * strides[1] + position * strides[2];
}

/// Computes a query's weight on a key, and the gradient of their product before it was scaled.
template <class C, class Element, class Statistic>
__device__ inline void pair_gradient(const AttentionGradientOperands& from,
                                     const AttentionShape& shape,
                                     Index batch,
                                     Index head,
                                     Index query,
                                     Index key,
                                     C* weight,
                                     C* slope) {
  const Index group = head / (shape.q_heads / shape.kv_heads);
  const Index q = place_of(shape, 1, batch, head, query);
  const Index k = place_of(shape, 2, batch, group, key);
  C score = C(0);
  for (Index i = 0; i < shape.head; ++i) {
    score += load<C, Element>(from.query, q + i) * load<C, Element>(from.key, k + i);
  }
  const Index y = place_of(shape, 0, batch, head, query);
  const Index v = place_of(shape, 3, batch, group, key);
  C fed = C(0);
  C mean = C(0);
  for (Index i = 0; i < shape.value_head; ++i) {
    const C gradient = load<C, Element>(from.gradient, y + i);
    fed += gradient * load<C, Element>(from.value, v + i);
    mean += gradient * load<C, Element>(from.result, y + i);
  }
  const C scale = static_cast<C>(shape.scale);
  const C total =
      load<C, Statistic>(from.statistics, (batch * shape.q_heads + head) * shape.queries + query);
  *weight = exp(score * scale - total);
  *slope = *weight * (fed - mean) * scale;
}

/// Computes dq. Operands are dq, then dy, q, k, v, y and the statistics. A row is a query.
template <class C, class Element, class Statistic>
__device__ inline void attention_query_gradient(const Operands& operands,
                                                const AttentionShape& shape) {
  __shared__ C slopes[kThreadsOfRow];
  const AttentionGradientOperands from = gradient_operands(operands, 1);
  const int me = static_cast<int>(threadIdx.x);
  for (Index row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const Index query = row % shape.queries;
    const Index head = row / shape.queries % shape.q_heads;
    const Index batch = row / shape.queries / shape.q_heads;
    const Index group = head / (shape.q_heads / shape.kv_heads);
    const Index seen = shape.causal && query + 1 < shape.keys ? query + 1 : shape.keys;
    C sums[kValuesOfThread];
    for (int i = 0; i < kValuesOfThread; ++i) {
      sums[i] = C(0);
    }
    for (Index first = 0; first < seen; first += kThreadsOfRow) {
      C weight = C(0);
      C slope = C(0);
      if (first + me < seen) {
        pair_gradient<C, Element, Statistic>(
            from, shape, batch, head, query, first + me, &weight, &slope);
      }
      slopes[me] = slope;
      __syncthreads();
      const int count = static_cast<int>(seen - first < kThreadsOfRow ? seen - first : kThreadsOfRow);
      for (int key = 0; key < count; ++key) {
        const Index k = place_of(shape, 2, batch, group, first + key);
        for (int i = 0; i < kValuesOfThread && me + i * kThreadsOfRow < shape.head; ++i) {
          sums[i] += slopes[key] * load<C, Element>(from.key, k + me + i * kThreadsOfRow);
        }
      }
      __syncthreads();
    }
    const Index q = place_of(shape, 1, batch, head, query);
    for (int i = 0; i < kValuesOfThread && me + i * kThreadsOfRow < shape.head; ++i) {
      store<C, Element>(operands.at[0], q + me + i * kThreadsOfRow, sums[i]);
    }
  }
}

/// Computes dk and dv. Operands are dk and dv, then dy, q, k, v, y and the statistics. A row is a
/// key and its value.
template <class C, class Element, class Statistic>
__device__ inline void attention_key_gradient(const Operands& operands,
                                              const AttentionShape& shape) {
  __shared__ C weights[kThreadsOfRow];
  __shared__ C slopes[kThreadsOfRow];
  const AttentionGradientOperands from = gradient_operands(operands, 2);
  const int me = static_cast<int>(threadIdx.x);
  const Index sharing = shape.q_heads / shape.kv_heads;
  const Index pairs = sharing * shape.queries;
  for (Index row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const Index key = row % shape.keys;
    const Index group = row / shape.keys % shape.kv_heads;
    const Index batch = row / shape.keys / shape.kv_heads;
    C of_key[kValuesOfThread];
    C of_value[kValuesOfThread];
    for (int i = 0; i < kValuesOfThread; ++i) {
      of_key[i] = C(0);
      of_value[i] = C(0);
    }
    for (Index first = 0; first < pairs; first += kThreadsOfRow) {
      const Index pair = first + me;
      C weight = C(0);
      C slope = C(0);
      if (pair < pairs && !(shape.causal && key > pair % shape.queries)) {
        pair_gradient<C, Element, Statistic>(from,
                                             shape,
                                             batch,
                                             group * sharing + pair / shape.queries,
                                             pair % shape.queries,
                                             key,
                                             &weight,
                                             &slope);
      }
      weights[me] = weight;
      slopes[me] = slope;
      __syncthreads();
      const int count =
          static_cast<int>(pairs - first < kThreadsOfRow ? pairs - first : kThreadsOfRow);
      for (int other = 0; other < count; ++other) {
        const Index head = group * sharing + (first + other) / shape.queries;
        const Index query = (first + other) % shape.queries;
        const Index q = place_of(shape, 1, batch, head, query);
        const Index y = place_of(shape, 0, batch, head, query);
        for (int i = 0; i < kValuesOfThread; ++i) {
          const Index number = me + i * kThreadsOfRow;
          if (number < shape.head) {
            of_key[i] += slopes[other] * load<C, Element>(from.query, q + number);
          }
          if (number < shape.value_head) {
            of_value[i] += weights[other] * load<C, Element>(from.gradient, y + number);
          }
        }
      }
      __syncthreads();
    }
    const Index k = place_of(shape, 2, batch, group, key);
    const Index v = place_of(shape, 3, batch, group, key);
    for (int i = 0; i < kValuesOfThread; ++i) {
      const Index number = me + i * kThreadsOfRow;
      if (number < shape.head) {
        store<C, Element>(operands.at[0], k + number, of_key[i]);
      }
      if (number < shape.value_head) {
        store<C, Element>(operands.at[1], v + number, of_value[i]);
      }
    }
  }
}

}  // namespace plumb::cuda::kernels
