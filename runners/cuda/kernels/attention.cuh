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

}  // namespace plumb::cuda::kernels
