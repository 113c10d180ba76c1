// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace onnx {
class TensorProto;
}

namespace plumb::model {

/// Place of a tensor's bytes in a file beside the model.
struct ExternalData {
  std::filesystem::path file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// Finds and checks a tensor's external data, without reading them. They must be `bytes` long, in a
/// regular file that is long enough. The file must be inside `folder` after every link is followed.
/// Throws Error{kUser} otherwise, naming the tensor and the place.
[[nodiscard]] ExternalData locate_external_data(const onnx::TensorProto& tensor,
                                                const std::filesystem::path& folder,
                                                std::uint64_t bytes);

/// Reads the data that locate_external_data() found. Throws Error{kUser} if the file cannot be
/// read.
[[nodiscard]] std::string read_external_data(const ExternalData& data);

}  // namespace plumb::model
