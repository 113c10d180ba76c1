// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace onnx {
class ModelProto;
}

namespace plumb::model {

/// Loads an ONNX file. The suffix decides the form: `.onnxtxt` is ONNX's text syntax, and
/// `.textproto`, `.prototxt` and `.pbtxt` are protobuf text. Any other file is binary. Throws
/// Error{kUser} for a file that is missing, too large or not ONNX.
[[nodiscard]] onnx::ModelProto load_onnx_file(const std::filesystem::path& path);

}  // namespace plumb::model
