// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_libraries/matrix_data.hpp"

#include <cstring>

#include "runners/engine/number_formats.hpp"

namespace plumb::stand_in {

std::size_t MatrixData::span() const {
  return rows == 0 || columns == 0 ? 0 : at(rows - 1, columns - 1, batch - 1) + 1;
}

Range MatrixData::range(const void* address, bool write) const {
  return {address, span() * bytes_of(type), write};
}

model::DataType data_type(cuda::abi::BlasCalls::Lt::Type type) {
  using Lt = cuda::abi::BlasCalls::Lt::Type;
  switch (type) {
    case Lt::kF64:
      return model::DataType::kF64;
    case Lt::kF16:
      return model::DataType::kF16;
    case Lt::kBf16:
      return model::DataType::kBf16;
    case Lt::kS8:
      return model::DataType::kS8;
    case Lt::kS32:
      return model::DataType::kS32;
    case Lt::kF8E4M3:
      return model::DataType::kF8E4M3;
    case Lt::kF8E5M2:
      return model::DataType::kF8E5M2;
    case Lt::kF32:
      break;
  }
  return model::DataType::kF32;
}

std::size_t bytes_of(cuda::abi::BlasCalls::Lt::Type type) {
  return static_cast<std::size_t>(model::element_bytes(data_type(type)));
}

std::vector<double> read_numbers(const void* address,
                                 cuda::abi::BlasCalls::Lt::Type type,
                                 std::size_t count) {
  const engine::ElementReader read = engine::reader_of(data_type(type));
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = read(static_cast<const std::byte*>(address), i);
  }
  return numbers;
}

void write_number(void* address,
                  cuda::abi::BlasCalls::Lt::Type type,
                  std::size_t element,
                  double value) {
  model::TensorType one;
  one.dtype = data_type(type);
  one.dims = {1};
  const model::Tensor tensor = engine::tensor_from(one, std::vector<double>{value});
  std::memcpy(static_cast<std::byte*>(address) + element * bytes_of(type),
              tensor.data.data(),
              bytes_of(type));
}

}  // namespace plumb::stand_in
