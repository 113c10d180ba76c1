// SPDX-License-Identifier: Apache-2.0
// Products of integers with zero points: one element a thread and step. Operand 0 is the output, 1
// and 2 the factors, 3 and 4 their zero points.
namespace plumb::cuda::kernels {

template <class A, class B>
__device__ inline void integer_product(const Operands& operands, const ProductShape& shape) {
  const int of_a = shape.has_zero[0] ? load<int, A>(operands.at[3], 0) : 0;
  const int of_b = shape.has_zero[1] ? load<int, B>(operands.at[4], 0) : 0;
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[3];
    locate(shape.space, i, 3, at);
    int sum = 0;
    for (Index k = 0; k < shape.depth; ++k) {
      sum += (load<int, A>(operands.at[1], at[1] + k * shape.steps[0]) - of_a) *
             (load<int, B>(operands.at[2], at[2] + k * shape.steps[1]) - of_b);
    }
    static_cast<int*>(operands.at[0])[at[0]] = sum;
  }
}

}  // namespace plumb::cuda::kernels
