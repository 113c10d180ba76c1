// SPDX-License-Identifier: Apache-2.0
// Attention. A block works on one query of one head, then on its next one. It goes over the keys
// once, a block's width at a time (Milakov and Gimelshein 2018, online softmax). Operand 0 is the
// output, 1 to 3 are q, k and v, 4 and 5 the earlier keys and values, 6 the mask. Those that are
// left out are never read.
namespace plumb::cuda::kernels {

/// Returns minus infinity.
template <class C>
__device__ inline C lowest_of() {
  return log(C(0));
}

/// Returns where a key or value lies, and in which operand: of earlier steps or of this one.
__device__ inline Index place_of_key(
    const AttentionShape& shape, int which, Index batch, Index head, Index key, bool* earlier) {
  *earlier = key < shape.past;
  const Index* const strides = shape.strides[*earlier ? which + 3 : which];
  return batch * strides[0] + head * strides[1] + (*earlier ? key : key - shape.past) * strides[2];
}

/// Returns the score of a query and a key, which is minus infinity if the mask hides the key.
template <class C, class Element, class Mask>
__device__ inline C compute_score(const Operands& operands,
                                  const AttentionShape& shape,
                                  Index batch,
                                  Index head,
                                  Index query,
                                  Index key) {
  bool earlier = false;
  const Index k =
      place_of_key(shape, 2, batch, head / (shape.q_heads / shape.kv_heads), key, &earlier);
  const void* const keys = operands.at[earlier ? 4 : 2];
  const Index q = batch * shape.strides[1][0] + head * shape.strides[1][1] +
                  query * shape.strides[1][2];
  C sum = C(0);
  for (Index i = 0; i < shape.head; ++i) {
    sum += load<C, Element>(operands.at[1], q + i) * load<C, Element>(keys, k + i);
  }
  sum *= static_cast<C>(shape.scale);
  if (shape.softcap > 0.0) {
    const C cap = static_cast<C>(shape.softcap);
    sum = cap * tanh(sum / cap);
  }
  if (shape.mask != 0) {
    const Index at = batch * shape.mask_strides[0] + head * shape.mask_strides[1] +
                     query * shape.mask_strides[2] + key;
    const C mask = load<C, Mask>(operands.at[6], at);
    sum = shape.mask == 1 ? sum + mask : (mask != C(0) ? sum : lowest_of<C>());
  }
  return sum;
}

template <class C, class Element, class Mask>
__device__ inline void attention(const Operands& operands, const AttentionShape& shape) {
  __shared__ C weights[kThreadsOfRow];
  const int me = static_cast<int>(threadIdx.x);
  for (Index row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const Index query = row % shape.queries;
    const Index head = row / shape.queries % shape.q_heads;
    const Index batch = row / shape.queries / shape.q_heads;
    Index seen = shape.keys;
    if (shape.causal && shape.past + query + 1 < seen) {
      seen = shape.past + query + 1;
    }
    C most = lowest_of<C>();
    C total = C(0);
    C sums[kValuesOfThread];
    for (int i = 0; i < kValuesOfThread; ++i) {
      sums[i] = C(0);
    }
    for (Index first = 0; first < seen; first += kThreadsOfRow) {
      const C score = first + me < seen ? compute_score<C, Element, Mask>(
                                              operands, shape, batch, head, query, first + me)
                                        : lowest_of<C>();
      const C next = Largest<C>::of(most, joined<Largest<C>, C>(score));
      if (next == lowest_of<C>()) {
        continue;  // no key so far, which is so for all threads
      }
      weights[me] = score == lowest_of<C>() ? C(0) : exp(score - next);
      __syncthreads();
      // The sums so far are relative to the largest score so far: bring them to the new one.
      const C shrink = most == lowest_of<C>() ? C(0) : exp(most - next);
      most = next;
      total *= shrink;
      for (int i = 0; i < kValuesOfThread; ++i) {
        sums[i] *= shrink;
      }
      const int count = static_cast<int>(seen - first < kThreadsOfRow ? seen - first : kThreadsOfRow);
      for (int key = 0; key < count; ++key) {
        bool earlier = false;
        const Index v = place_of_key(shape,
                                     3,
                                     batch,
                                     head / (shape.q_heads / shape.kv_heads),
                                     first + key,
                                     &earlier);
        total += weights[key];
        for (int i = 0; i < kValuesOfThread && me + i * kThreadsOfRow < shape.value_head; ++i) {
          sums[i] += weights[key] *
                     load<C, Element>(operands.at[earlier ? 5 : 3], v + me + i * kThreadsOfRow);
        }
      }
      __syncthreads();
    }
    const Index y = batch * shape.strides[0][0] + head * shape.strides[0][1] +
                    query * shape.strides[0][2];
    for (int i = 0; i < kValuesOfThread && me + i * kThreadsOfRow < shape.value_head; ++i) {
      store<C, Element>(operands.at[0],
                        y + me + i * kThreadsOfRow,
                        total > C(0) ? sums[i] / total : C(0));
    }
  }
}

// Gradient of attention. A block works on one query of one head, or on one key and its value with
// all queries that share them, a block's width of pairs at a time. Strides are the forward layer's:
// of y and dy (0), q and dq (1), k and dk (2), v and dv (3).

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
