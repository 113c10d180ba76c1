// SPDX-License-Identifier: Apache-2.0
// Test double of cuBLASLt: libcublasLt.so.13. Its heuristic offers two algorithms, of which the
// first wants a workspace. Both compute in double.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "tests/support/cuda_libraries/product.hpp"

#define PLUMB_EXPORT extern "C" __attribute__((visibility("default")))

namespace plumb::stand_in {
namespace {

namespace abi = cuda::abi;

constexpr int kInvalidValue = 7;
constexpr int kExecutionFailed = 13;
constexpr int kNotSupported = 15;
constexpr std::size_t kWorkspace = 4096;
constexpr std::uint64_t kAlignment = 256;  // "Default is 256 bytes": the preference's for A to D

struct Matrix {
  MatrixData data;
};

struct Operation {
  abi::BlasCalls::Lt::Compute compute;
  abi::BlasCalls::Lt::Type scale;
  bool transpose_a = false;
  bool transpose_b = false;
  abi::BlasCalls::Lt::Epilogue epilogue = abi::BlasCalls::Lt::Epilogue::kDefault;
  void* bias = nullptr;
  const void* aux = nullptr;
  std::int64_t aux_leading = 0;
};

struct Preference {
  std::uint64_t workspace = 0;
};

/// Sets a value of a given size, as all of the library's setters do.
template <typename Value>
int set(Value& to, const void* from, std::size_t size) {
  if (size != sizeof to) {
    return kInvalidValue;
  }
  std::memcpy(&to, from, size);
  return 0;
}

bool is_aligned(const void* operand) {
  return std::bit_cast<std::uint64_t>(operand) % kAlignment == 0;
}

double scale_of(const void* factor, abi::BlasCalls::Lt::Type type) {
  return read_numbers(factor, type, 1).front();
}

Product product_of(const Operation& operation,
                   const Matrix& a,
                   const Matrix& b,
                   const Matrix& c,
                   const Matrix& d) {
  Product product;
  product.a = a.data;
  product.b = b.data;
  product.c = c.data;
  product.d = d.data;
  product.transpose_a = operation.transpose_a;
  product.transpose_b = operation.transpose_b;
  product.compute = operation.compute;
  product.epilogue = operation.epilogue;
  product.bias = operation.bias;
  product.aux = operation.aux;
  product.aux_leading = operation.aux_leading;
  return product;
}

std::uint64_t flags_of(abi::BlasCalls::Lt::Type type) {
  switch (type) {
    case abi::BlasCalls::Lt::Type::kF16:
      return abi::kLtHmma | abi::kLtAccumulatorF32 | abi::kLtInputF16;
    case abi::BlasCalls::Lt::Type::kBf16:
      return abi::kLtHmma | abi::kLtAccumulatorF32 | abi::kLtInputBf16;
    case abi::BlasCalls::Lt::Type::kF64:
      return abi::kLtDmma | abi::kLtAccumulatorF64 | abi::kLtInputF64;
    case abi::BlasCalls::Lt::Type::kS8:
      return abi::kLtImma | abi::kLtAccumulatorS32 | abi::kLtInputS8;
    case abi::BlasCalls::Lt::Type::kF8E4M3:
      return abi::kLtHmma | abi::kLtAccumulatorF32 | abi::kLtInputF8E4M3;
    case abi::BlasCalls::Lt::Type::kF8E5M2:
      return abi::kLtHmma | abi::kLtAccumulatorF32 | abi::kLtInputF8E5M2;
    default:
      return abi::kLtFma | abi::kLtAccumulatorF32 | abi::kLtInputF32;
  }
}

}  // namespace
}  // namespace plumb::stand_in

using namespace plumb::stand_in;  // NOLINT: the entry points have no namespace
namespace lt = plumb::cuda::abi;

PLUMB_EXPORT std::size_t cublasLtGetVersion() {
  return 130100;
}
PLUMB_EXPORT const char* cublasLtGetStatusName(int status) {
  switch (status) {
    case 0:
      return "CUBLAS_STATUS_SUCCESS";
    case 3:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case 13:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 15:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}
PLUMB_EXPORT int cublasLtCreate(void** handle) {
  *handle = new int(0);
  return 0;
}
PLUMB_EXPORT int cublasLtDestroy(void* handle) {
  delete static_cast<int*>(handle);
  return 0;
}
PLUMB_EXPORT int cublasLtMatmulDescCreate(void** made,
                                          lt::BlasCalls::Lt::Compute compute,
                                          lt::BlasCalls::Lt::Type scale) {
  *made = new Operation{compute, scale};
  return 0;
}
PLUMB_EXPORT int cublasLtMatmulDescDestroy(void* made) {
  delete static_cast<Operation*>(made);
  return 0;
}
PLUMB_EXPORT int cublasLtMatmulDescSetAttribute(void* made,
                                                lt::BlasCalls::Lt::ProductAttribute name,
                                                const void* value,
                                                std::size_t size) {
  Operation& one = *static_cast<Operation*>(made);
  int number = 0;
  switch (name) {
    case lt::BlasCalls::Lt::ProductAttribute::kTransposeA:
      if (const int status = set(number, value, size); status != 0) {
        return status;
      }
      one.transpose_a = number != 0;
      return 0;
    case lt::BlasCalls::Lt::ProductAttribute::kTransposeB:
      if (const int status = set(number, value, size); status != 0) {
        return status;
      }
      one.transpose_b = number != 0;
      return 0;
    case lt::BlasCalls::Lt::ProductAttribute::kEpilogue:
      return set(one.epilogue, value, size);
    case lt::BlasCalls::Lt::ProductAttribute::kBiasPointer:
      return set(one.bias, value, size);
    case lt::BlasCalls::Lt::ProductAttribute::kAuxPointer:
      return set(one.aux, value, size);
    case lt::BlasCalls::Lt::ProductAttribute::kAuxLeading:
      return set(one.aux_leading, value, size);
    case lt::BlasCalls::Lt::ProductAttribute::kFastAccumulation:
      return size == 1 ? 0 : kInvalidValue;
  }
  return kInvalidValue;
}
PLUMB_EXPORT int cublasLtMatrixLayoutCreate(void** made,
                                            lt::BlasCalls::Lt::Type type,
                                            std::uint64_t rows,
                                            std::uint64_t columns,
                                            std::int64_t leading) {
  *made = new Matrix{
      {type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading, 1, 0}};
  return 0;
}
PLUMB_EXPORT int cublasLtMatrixLayoutDestroy(void* made) {
  delete static_cast<Matrix*>(made);
  return 0;
}
PLUMB_EXPORT int cublasLtMatrixLayoutSetAttribute(void* made,
                                                  lt::BlasCalls::Lt::MatrixAttribute name,
                                                  const void* value,
                                                  std::size_t size) {
  MatrixData& data = static_cast<Matrix*>(made)->data;
  if (name == lt::BlasCalls::Lt::MatrixAttribute::kBatchStride) {
    return set(data.stride, value, size);
  }
  std::int32_t count = 0;
  const int status = set(count, value, size);
  data.batch = count;
  return status;
}
PLUMB_EXPORT int cublasLtMatmulPreferenceCreate(void** made) {
  *made = new Preference;
  return 0;
}
PLUMB_EXPORT int cublasLtMatmulPreferenceDestroy(void* made) {
  delete static_cast<Preference*>(made);
  return 0;
}
PLUMB_EXPORT int cublasLtMatmulPreferenceSetAttribute(
    void* made,
    lt::BlasCalls::Lt::PreferenceAttribute /*name*/,
    const void* value,
    std::size_t size) {
  return set(static_cast<Preference*>(made)->workspace, value, size);
}
PLUMB_EXPORT int cublasLtMatmulAlgoGetHeuristic(void* /*handle*/,
                                                void* operation,
                                                void* a,
                                                void* b,
                                                void* c,
                                                void* d,
                                                void* preference,
                                                int wanted,
                                                lt::BlasCalls::Lt::Choice* choices,
                                                int* count) {
  *count = 0;
  const Product product = product_of(*static_cast<Operation*>(operation),
                                     *static_cast<Matrix*>(a),
                                     *static_cast<Matrix*>(b),
                                     *static_cast<Matrix*>(c),
                                     *static_cast<Matrix*>(d));
  if (!fault_of(product).empty()) {
    return kNotSupported;
  }
  const std::uint64_t room = static_cast<Preference*>(preference)->workspace;
  for (std::uint64_t number = 0; number < 2 && *count < wanted; ++number) {
    const std::size_t workspace = number == 0 ? kWorkspace : 0;
    if (workspace <= room) {
      lt::BlasCalls::Lt::Choice& choice = choices[(*count)++];
      choice = {};
      choice.algorithm.data = {number, flags_of(product.a.type), workspace};
      choice.workspace = workspace;
      choice.waves = 1.0F;
    }
  }
  return 0;
}
PLUMB_EXPORT int cublasLtMatmulAlgoConfigGetAttribute(const lt::BlasCalls::Lt::Algorithm* algorithm,
                                                      lt::BlasCalls::Lt::Setting name,
                                                      void* value,
                                                      std::size_t size,
                                                      std::size_t* written) {
  const std::uint64_t number = name == lt::BlasCalls::Lt::Setting::kId ? algorithm->data[0] : 0;
  std::memcpy(value, &number, size);
  *written = size;
  return 0;
}
PLUMB_EXPORT int cublasLtMatmulAlgoCapGetAttribute(const lt::BlasCalls::Lt::Algorithm* algorithm,
                                                   int name,
                                                   void* value,
                                                   std::size_t size,
                                                   std::size_t* written) {
  if (name != lt::kLtNumericalFlags || size != sizeof(std::uint64_t)) {
    return kInvalidValue;
  }
  std::memcpy(value, &algorithm->data[1], size);
  *written = size;
  return 0;
}
PLUMB_EXPORT int cublasLtMatmul(void* /*handle*/,
                                void* operation,
                                const void* alpha,
                                const void* a_address,
                                void* a,
                                const void* b_address,
                                void* b,
                                const void* beta,
                                const void* c_address,
                                void* c,
                                void* d_address,
                                void* d,
                                const lt::BlasCalls::Lt::Algorithm* algorithm,
                                void* workspace,
                                std::size_t workspace_bytes,
                                void* stream) {
  if (const int status = control().library_call("cublasLtMatmul"); status != 0) {
    return status;
  }
  const Operation& kind = *static_cast<Operation*>(operation);
  Product product = product_of(kind,
                               *static_cast<Matrix*>(a),
                               *static_cast<Matrix*>(b),
                               *static_cast<Matrix*>(c),
                               *static_cast<Matrix*>(d));
  product.alpha = scale_of(alpha, kind.scale);
  product.beta = scale_of(beta, kind.scale);
  product.a_address = a_address;
  product.b_address = b_address;
  product.c_address = c_address;
  product.d_address = d_address;
  const std::array<const void*, 4> operands{a_address, b_address, c_address, d_address};
  if (!std::all_of(operands.begin(), operands.end(), is_aligned)) {
    return kNotSupported;  // the heuristic was asked for operands that lie so
  }
  const std::size_t needed = algorithm->data[2];
  if (!fault_of(product).empty() || workspace_bytes < needed) {
    return kInvalidValue;
  }
  std::vector<Range> ranges = ranges_of(product);
  if (needed > 0) {
    ranges.push_back({workspace, needed, true});
  }
  const int status = control().enqueue(
      stream, "a product of cuBLASLt", std::move(ranges), [product, workspace, needed] {
        if (needed > 0) {
          std::memset(workspace, 0xff, needed);
        }
        multiply(product);
      });
  return status == 0 ? 0 : kExecutionFailed;
}
