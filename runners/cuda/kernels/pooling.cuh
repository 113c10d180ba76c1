// SPDX-License-Identifier: Apache-2.0
// Pools. A thread works on one output element per step.
namespace plumb::cuda::kernels {

// Kinds of pool: `take` adds an element of a window to the total, `give` makes the total a result.
struct MaxPool {
  template <class C>
  static __device__ inline C take(C total, C x, Index seen, double) {
    return seen == 0 || x != x || x > total ? x : total;
  }
  template <class C>
  static __device__ inline C give(C total, Index, Index, const PoolShape&) {
    return total;
  }
};
struct AveragePool {
  template <class C>
  static __device__ inline C take(C total, C x, Index, double) {
    return total + x;
  }
  template <class C>
  static __device__ inline C give(C total, Index seen, Index padded, const PoolShape& shape) {
    return total / static_cast<C>(shape.include_pad ? padded : seen);
  }
};
struct PowerPool {
  template <class C>
  static __device__ inline C take(C total, C x, Index, double power) {
    return total + pow(fabs(x), static_cast<C>(power));
  }
  template <class C>
  static __device__ inline C give(C total, Index, Index, const PoolShape& shape) {
    return pow(total, C(1) / static_cast<C>(shape.power));
  }
};

template <class Pool, class C, class Element>
__device__ inline void pool(const Operands& operands, const PoolShape& shape) {
  const Index* const strides = shape.out.strides[1];
  for (Index i = first_element(); i < shape.out.count; i += element_step()) {
    Index at[5];
    Index out[1];
    positions_of(shape.out, i, at);
    locate(shape.out, i, 1, out);
    const Index plane = at[0] * strides[0] + at[1] * strides[1];
    C total = C(0);
    Index seen = 0;
    Index padded = 0;
    for (Index d = 0; d < shape.kernel[0]; ++d) {
      const Index z = at[2] * shape.strides[0] - shape.pads[0] + d * shape.dilations[0];
      for (Index h = 0; h < shape.kernel[1]; ++h) {
        const Index y = at[3] * shape.strides[1] - shape.pads[1] + h * shape.dilations[1];
        for (Index w = 0; w < shape.kernel[2]; ++w) {
          const Index x = at[4] * shape.strides[2] - shape.pads[2] + w * shape.dilations[2];
          padded += z < shape.in[0] + shape.end_pads[0] && y < shape.in[1] + shape.end_pads[1] &&
                            x < shape.in[2] + shape.end_pads[2]
                        ? 1
                        : 0;
          if (z >= 0 && z < shape.in[0] && y >= 0 && y < shape.in[1] && x >= 0 &&
              x < shape.in[2]) {
            const Index from = plane + z * strides[2] + y * strides[3] + x * strides[4];
            total = Pool::take(
                total, load<C, Element>(operands.at[1], from), seen, shape.power);
            ++seen;
          }
        }
      }
    }
    store<C, Element>(operands.at[0], out[0], Pool::give(total, seen, padded, shape));
  }
}

}  // namespace plumb::cuda::kernels
