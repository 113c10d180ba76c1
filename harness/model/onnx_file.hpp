// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace onnx {
class ModelProto;
}

namespace plumb {

/// Loads an ONNX file: `.onnxtxt` as ONNX's text syntax, `.textproto`, `.prototxt` and `.pbtxt` as
/// protobuf text, anything else as binary. Throws Error{kUser} for a file that is missing, too
/// large or not ONNX.
[[nodiscard]] onnx::ModelProto load_onnx_file(const std::filesystem::path& path);

}  // namespace plumb
