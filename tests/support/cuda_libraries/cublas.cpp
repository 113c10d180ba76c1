// SPDX-License-Identifier: Apache-2.0
// Test double of cuBLAS' older interface: libcublas.so.13.
#include <cstring>
#include <memory>

#include "runners/cuda/driver/cublas_abi.hpp"
#include "tests/support/cuda_libraries/library_memory.hpp"
#include "tests/support/cuda_libraries/product.hpp"

#define PLUMB_EXPORT extern "C" __attribute__((visibility("default")))

namespace plumb::stand_in {
namespace {

namespace abi = cuda::abi;

constexpr int kNotInitialized = 1;
constexpr int kAllocFailed = 3;
constexpr int kInvalidValue = 7;
constexpr int kExecutionFailed = 13;
constexpr std::size_t kOwn = 4096;

struct Handle {
  LibraryMemory memory;
  LibraryMemory own_workspace;
  void* stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

MatrixData stored(abi::BlasCalls::Lt::Type type,
                  bool transposed,
                  std::int64_t rows,
                  std::int64_t columns,
                  std::int64_t leading,
                  std::int64_t batch,
                  std::int64_t stride) {
  return {type, transposed ? columns : rows, transposed ? rows : columns, leading, batch, stride};
}

abi::BlasCalls::Lt::Type scale_type(abi::BlasCalls::Lt::Compute compute) {
  return compute == abi::BlasCalls::Lt::Compute::kF64   ? abi::BlasCalls::Lt::Type::kF64
         : compute == abi::BlasCalls::Lt::Compute::kS32 ? abi::BlasCalls::Lt::Type::kS32
                                                        : abi::BlasCalls::Lt::Type::kF32;
}

int start(Handle& handle, const Product& product) {
  if (const int status = control().library_call("cublas"); status != 0) {
    return status;
  }
  if (!fault_of(product).empty()) {
    return kInvalidValue;
  }
  void* workspace = handle.workspace;
  // "cublasSetWorkspace": without one, the library uses a pool that it allocates for itself.
  if (workspace == nullptr && !handle.own_workspace.taken()) {
    if (handle.own_workspace.take(kOwn) != 0) {
      return kAllocFailed;
    }
  }
  std::vector<Range> ranges = ranges_of(product);
  if (workspace != nullptr) {
    ranges.push_back({workspace, handle.workspace_bytes, true});
  }
  const int status = control().enqueue(handle.stream,
                                       "a product of cuBLAS",
                                       std::move(ranges),
                                       [product, workspace, bytes = handle.workspace_bytes] {
                                         if (workspace != nullptr) {
                                           std::memset(workspace, 0xff, bytes);
                                         }
                                         multiply(product);
                                       });
  return status == 0 ? 0 : kExecutionFailed;
}

template <typename Number>
int start_gemv(Handle& handle,
               abi::BlasCalls::Lt::Type type,
               bool transposed,
               int rows,
               int columns,
               Number alpha,
               const void* a,
               int leading,
               const void* x,
               int x_step,
               Number beta,
               void* y,
               int y_step) {
  Product product;
  const int in = transposed ? rows : columns;
  const int out = transposed ? columns : rows;
  product.a = {type, rows, columns, leading, 1, 0};
  product.transpose_a = transposed;
  // A vector with a step is the row of a matrix, so that it is taken transposed.
  product.b = {type, 1, in, x_step, 1, 0};
  product.transpose_b = true;
  product.alpha = static_cast<double>(alpha);
  product.beta = static_cast<double>(beta);
  product.a_address = a;
  product.b_address = x;
  if (y_step != 1 && out != 1) {
    return kInvalidValue;  // not modelled: the backend writes results densely
  }
  product.c = product.d = {type, out, 1, out, 1, 0};
  product.c_address = y;
  product.d_address = y;
  return start(handle, product);
}

}  // namespace
}  // namespace plumb::stand_in

using namespace plumb::stand_in;  // NOLINT: the entry points have no namespace
namespace blas = plumb::cuda::abi;

PLUMB_EXPORT int cublasCreate_v2(void** handle) {
  auto made = std::make_unique<Handle>();
  if (made->memory.take(kOwn) != 0) {
    return kNotInitialized;
  }
  *handle = made.release();
  return 0;
}
PLUMB_EXPORT int cublasDestroy_v2(void* handle) {
  const std::unique_ptr<Handle> owned(static_cast<Handle*>(handle));
  const int first = owned->memory.give_back();
  return owned->own_workspace.give_back() + first == 0 ? 0 : kNotInitialized;
}
/// cublasSetStream(): "unconditionally resets the cuBLAS library workspace back to the default
/// workspace pool".
PLUMB_EXPORT int cublasSetStream_v2(void* handle, void* stream) {
  Handle& one = *static_cast<Handle*>(handle);
  one.stream = stream;
  one.workspace = nullptr;
  one.workspace_bytes = 0;
  return 0;
}
PLUMB_EXPORT int cublasSetWorkspace_v2(void* handle, void* workspace, std::size_t bytes) {
  Handle& one = *static_cast<Handle*>(handle);
  one.workspace = workspace;
  one.workspace_bytes = bytes;
  return 0;
}
PLUMB_EXPORT int cublasGemmStridedBatchedEx(void* handle,
                                            blas::BlasCalls::Lt::Operation a_operation,
                                            blas::BlasCalls::Lt::Operation b_operation,
                                            int m,
                                            int n,
                                            int k,
                                            const void* alpha,
                                            const void* a,
                                            blas::BlasCalls::Lt::Type a_type,
                                            int a_leading,
                                            long long a_stride,
                                            const void* b,
                                            blas::BlasCalls::Lt::Type b_type,
                                            int b_leading,
                                            long long b_stride,
                                            const void* beta,
                                            void* c,
                                            blas::BlasCalls::Lt::Type c_type,
                                            int c_leading,
                                            long long c_stride,
                                            int batch,
                                            blas::BlasCalls::Lt::Compute compute,
                                            int /*algorithm*/) {
  Product product;
  product.transpose_a = a_operation != blas::BlasCalls::Lt::Operation::kNone;
  product.transpose_b = b_operation != blas::BlasCalls::Lt::Operation::kNone;
  product.a = stored(a_type, product.transpose_a, m, k, a_leading, batch, a_stride);
  product.b = stored(b_type, product.transpose_b, k, n, b_leading, batch, b_stride);
  product.c = product.d = stored(c_type, false, m, n, c_leading, batch, c_stride);
  product.alpha = read_numbers(alpha, scale_type(compute), 1).front();
  product.beta = read_numbers(beta, scale_type(compute), 1).front();
  product.a_address = a;
  product.b_address = b;
  product.c_address = c;
  product.d_address = c;
  return start(*static_cast<Handle*>(handle), product);
}
PLUMB_EXPORT int cublasGemmEx(void* handle,
                              blas::BlasCalls::Lt::Operation a_operation,
                              blas::BlasCalls::Lt::Operation b_operation,
                              int m,
                              int n,
                              int k,
                              const void* alpha,
                              const void* a,
                              blas::BlasCalls::Lt::Type a_type,
                              int a_leading,
                              const void* b,
                              blas::BlasCalls::Lt::Type b_type,
                              int b_leading,
                              const void* beta,
                              void* c,
                              blas::BlasCalls::Lt::Type c_type,
                              int c_leading,
                              blas::BlasCalls::Lt::Compute compute,
                              int algorithm) {
  return cublasGemmStridedBatchedEx(handle,
                                    a_operation,
                                    b_operation,
                                    m,
                                    n,
                                    k,
                                    alpha,
                                    a,
                                    a_type,
                                    a_leading,
                                    0,
                                    b,
                                    b_type,
                                    b_leading,
                                    0,
                                    beta,
                                    c,
                                    c_type,
                                    c_leading,
                                    0,
                                    1,
                                    compute,
                                    algorithm);
}
PLUMB_EXPORT int cublasSgemv_v2(void* handle,
                                blas::BlasCalls::Lt::Operation operation,
                                int rows,
                                int columns,
                                const float* alpha,
                                const float* a,
                                int leading,
                                const float* x,
                                int x_step,
                                const float* beta,
                                float* y,
                                int y_step) {
  return start_gemv(*static_cast<Handle*>(handle),
                    blas::BlasCalls::Lt::Type::kF32,
                    operation != blas::BlasCalls::Lt::Operation::kNone,
                    rows,
                    columns,
                    *alpha,
                    a,
                    leading,
                    x,
                    x_step,
                    *beta,
                    y,
                    y_step);
}
PLUMB_EXPORT int cublasDgemv_v2(void* handle,
                                blas::BlasCalls::Lt::Operation operation,
                                int rows,
                                int columns,
                                const double* alpha,
                                const double* a,
                                int leading,
                                const double* x,
                                int x_step,
                                const double* beta,
                                double* y,
                                int y_step) {
  return start_gemv(*static_cast<Handle*>(handle),
                    blas::BlasCalls::Lt::Type::kF64,
                    operation != blas::BlasCalls::Lt::Operation::kNone,
                    rows,
                    columns,
                    *alpha,
                    a,
                    leading,
                    x,
                    x_step,
                    *beta,
                    y,
                    y_step);
}
