// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/model/key/tensor.hpp"
#include "runners/cuda/driver/cublas_abi.hpp"
#include "tests/support/cuda_driver/control.hpp"

namespace plumb::stand_in {

/// Column-major matrices in the device's memory, one behind the other.
struct MatrixData {
  cuda::abi::BlasCalls::Lt::Type type = cuda::abi::BlasCalls::Lt::Type::kF32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;
  std::int64_t batch = 1;
  std::int64_t stride = 0;

  /// Returns how many elements there are from the first to the last.
  [[nodiscard]] std::size_t span() const;
  [[nodiscard]] Range range(const void* address, bool write) const;
  [[nodiscard]] std::size_t at(std::int64_t row, std::int64_t column, std::int64_t entry) const {
    return static_cast<std::size_t>(entry * stride + column * leading + row);
  }
};

/// Returns Plumbline's type of one of cuBLAS'.
[[nodiscard]] model::DataType data_type(cuda::abi::BlasCalls::Lt::Type type);
[[nodiscard]] std::size_t bytes_of(cuda::abi::BlasCalls::Lt::Type type);

/// Reads all elements of a span.
[[nodiscard]] std::vector<double> read_numbers(const void* address,
                                               cuda::abi::BlasCalls::Lt::Type type,
                                               std::size_t count);
/// Writes one element, rounded to its type.
void write_number(void* address,
                  cuda::abi::BlasCalls::Lt::Type type,
                  std::size_t element,
                  double value);

}  // namespace plumb::stand_in
