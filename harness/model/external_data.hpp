// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace onnx {
class TensorProto;
}

namespace plumb {

/// Names the bytes of a tensor in a file beside the model.
struct ExternalData {
  std::filesystem::path file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// Finds and checks a tensor's external data: inside `folder` after every link is followed, a
/// regular file, long enough, `bytes` long. Throws Error{kUser}, naming the tensor and the place,
/// otherwise. Reads nothing.
[[nodiscard]] ExternalData locate_external_data(const onnx::TensorProto& tensor,
                                                const std::filesystem::path& folder,
                                                std::uint64_t bytes);

/// Reads what locate_external_data found. Throws Error{kUser} if the file cannot be read.
[[nodiscard]] std::string read_external_data(const ExternalData& data);

}  // namespace plumb
