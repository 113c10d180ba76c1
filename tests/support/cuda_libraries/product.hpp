// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/cuda_libraries/matrix_data.hpp"

namespace plumb::stand_in {

/// Product D = epilogue(alpha · op(A) · op(B) + beta · C), as cuBLASLt's documentation writes it.
struct Product {
  MatrixData a, b, c, d;
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1.0;
  double beta = 0.0;
  cuda::abi::BlasCalls::Lt::Compute compute = cuda::abi::BlasCalls::Lt::Compute::kF32;
  cuda::abi::BlasCalls::Lt::Epilogue epilogue = cuda::abi::BlasCalls::Lt::Epilogue::kDefault;
  const void* a_address = nullptr;
  const void* b_address = nullptr;
  const void* c_address = nullptr;
  void* d_address = nullptr;
  void* bias = nullptr;
  const void* aux = nullptr;
  std::int64_t aux_leading = 0;
};

/// Returns why extents or types do not belong together. Empty: they do.
[[nodiscard]] std::string fault_of(const Product& product);
/// Returns what the product reads and writes.
[[nodiscard]] std::vector<Range> ranges_of(const Product& product);
/// Computes the product in double and rounds once.
void multiply(const Product& product);

}  // namespace plumb::stand_in
