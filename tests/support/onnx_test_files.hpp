// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/model/key/tensor.hpp"

namespace plumb::test_support {

/// Returns why a test cannot be executed.
struct Unsupported {
  std::string reason;
};

/// Reads a folder's model.onnx, lifted to opset 7 where it is older: models no longer use those,
/// and the tests' operators did not change until then. Throws Unsupported.
[[nodiscard]] onnx::ModelProto read_test_model(const std::filesystem::path& folder);

/// Reads an input or output of a test, named as the model's value. Throws Unsupported.
[[nodiscard]] onnx::TensorProto read_tensor(const std::filesystem::path& path,
                                            const onnx::ValueInfoProto& value);

/// Returns a tensor of numbers, dense. Throws Unsupported for other types.
[[nodiscard]] model::Tensor tensor_of(const onnx::TensorProto& proto);

/// Returns what differs, in words; empty if nothing. `allowed` returns the tolerance of an output
/// relative to its largest value: NumPy computed the expected outputs in the tensors' own types.
[[nodiscard]] std::string difference(const std::vector<model::Tensor>& expected,
                                     const std::vector<model::Tensor>& actual,
                                     const std::function<double(std::size_t)>& allowed);

}  // namespace plumb::test_support
