// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runners/cuda/blas/gemm_problem.hpp"
#include "runners/cuda/driver/cublas_abi.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// cuBLASLt and cuBLAS' older interface, loaded by name from the stack's folders. Descriptors of
/// cuBLASLt need no device.
class CublasLibrary {
 public:
  /// Owner of the current context's handles: cuBLASLt's, and that of the older calls where cuBLAS
  /// gives one. The library must outlive it.
  class Handle {
   public:
    /// Creates the handles. Throws CublasLibrary::Refusal if cuBLASLt's is refused.
    explicit Handle(const CublasLibrary& library);

    [[nodiscard]] abi::LtHandle get() const { return handle_.get(); }
    [[nodiscard]] const CublasLibrary& library() const { return library_; }

    [[nodiscard]] bool has_older_calls() const { return older_.has_value(); }
    /// Returns the handle of the older calls, set to a stream and to a workspace of the caller's.
    /// cuBLAS would allocate its own, even while a graph is captured. Throws
    /// CublasLibrary::Refusal.
    [[nodiscard]] abi::BlasHandle in(abi::Stream stream, void* workspace, std::size_t bytes) const;

   private:
    const CublasLibrary& library_;
    DynamicLibrary::Owned handle_;
    std::optional<DynamicLibrary::Owned> older_;
  };

  /// Descriptors of a product for cuBLASLt. The library must outlive it.
  struct Product {
    DynamicLibrary::Owned product;
    DynamicLibrary::Owned a;
    DynamicLibrary::Owned b;
    DynamicLibrary::Owned c;
    DynamicLibrary::Owned d;
  };

  /// Refusal of a call by cuBLASLt or cuBLAS.
  class Refusal : public DynamicLibrary::Refusal {
   public:
    using DynamicLibrary::Refusal::Refusal;
  };

  /// Loads the libraries. Throws Error{kEnvironment} that says how to get cuBLASLt.
  CublasLibrary();

  [[nodiscard]] const abi::BlasCalls::Lt& calls() const { return calls_; }
  /// Returns cuBLAS' older calls. Null: the stack has no libcublas.
  [[nodiscard]] const abi::BlasCalls* older_calls() const {
    return older_calls_ ? &*older_calls_ : nullptr;
  }
  /// Throws std::bad_alloc if memory is short, and Refusal for any other failure.
  void check(int status, const char* what) const;

 private:
  abi::BlasCalls::Lt calls_;
  std::optional<abi::BlasCalls> older_calls_;
};

/// Returns the type as cuBLAS names it.
[[nodiscard]] abi::BlasCalls::Lt::Type lt_type(model::DataType type);
/// Returns the types in which a product is computed and scaled.
[[nodiscard]] std::pair<abi::BlasCalls::Lt::Compute, abi::BlasCalls::Lt::Type> computation_of(
    const GemmProblem& problem);

/// Returns the operation that cuBLASLt itself does after a product.
[[nodiscard]] abi::BlasCalls::Lt::Epilogue epilogue_of(const GemmProblem& problem);

/// Makes cuBLASLt's descriptors of a product. Needs no device. Throws CublasLibrary::Refusal.
[[nodiscard]] CublasLibrary::Product lt_product(const CublasLibrary& library,
                                                const GemmProblem& problem);

/// Sets one attribute of a product's descriptor. Throws CublasLibrary::Refusal.
void set_attribute(const CublasLibrary& library,
                   abi::LtDescriptor product,
                   abi::BlasCalls::Lt::ProductAttribute name,
                   const void* value,
                   std::size_t size);

/// Workspace in bytes that cuBLAS recommends from Hopper on. cuBLAS' choice depends on it, so it is
/// the same everywhere.
inline constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;

/// Factor alpha or beta, in the type in which a product is scaled.
using Factor = std::variant<float, double, std::int32_t>;
[[nodiscard]] Factor factor(double value, model::DataType type);
[[nodiscard]] const void* address_of(const Factor& factor);

/// Begins a product's plan with its buffers, and with the steps that make operands before it.
/// Throws Unsupported.
[[nodiscard]] ExecutionPlan begin_product_plan(const model::LayerSpec& spec,
                                               const GemmProblem& problem,
                                               const KernelStep& kernel);

/// Appends a product's own step, and the built-in kernels after it.
void append_product(
    ExecutionPlan& plan,
    const GemmProblem& problem,
    std::function<DeviceLaunch(std::span<const abi::DevicePointer>, abi::DevicePointer)> bind,
    const KernelStep& kernel);

/// Returns the part of a variant's name that tells one form of a product from another. It says how
/// the product adds up, and that built-in kernels take part.
[[nodiscard]] std::string form_text(const GemmProblem& problem);

/// Name of the row's attribute that holds cuBLASLt's algorithm. Its value means the same only in
/// the version that wrote it.
inline constexpr const char* kAlgorithmAttribute = "algorithm";

/// Returns an algorithm as hexadecimal digits, sixteen for each word.
[[nodiscard]] std::string algorithm_text(const abi::BlasCalls::Lt::Algorithm& algorithm);

/// Reads what algorithm_text() wrote. Throws Error{kUser} for anything else.
[[nodiscard]] abi::BlasCalls::Lt::Algorithm parse_algorithm(const std::string& text);

/// Lists the variants of a product by cuBLAS' older calls, with cuBLAS' own choice of an algorithm.
/// The call is cublasGemmEx or cublasGemmStridedBatchedEx. A product by one row or column in f32 or
/// f64 also has gemv. Throws Unsupported. The handle has the older calls, and must outlive the
/// builders.
[[nodiscard]] std::vector<VariantBuilder> blas_variants(const model::LayerSpec& spec,
                                                        const CublasLibrary::Handle& handle,
                                                        const KernelStep& kernel);

/// Lists the algorithms that cuBLASLt's heuristic gives for a product, best first. All keep the
/// layer's promise of precision. Throws Unsupported if there is none. The handle must outlive the
/// builders. `kernel` makes the steps of built-in kernels before and after the product
/// (GemmProblem).
[[nodiscard]] std::vector<VariantBuilder> gemm_variants(const model::LayerSpec& spec,
                                                        const CublasLibrary::Handle& handle,
                                                        const KernelStep& kernel);

}  // namespace plumb::cuda
