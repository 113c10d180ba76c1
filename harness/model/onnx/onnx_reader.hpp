// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb::model {

/// Extents for the dimensions that an exported model leaves open.
struct ReadOptions {
  std::optional<std::int64_t> batch{};         ///< of the open first dimensions of inputs
  std::map<std::string, std::int64_t> dims{};  ///< open dimensions by name (`--dim name=value`)
  bool rebatch = false;  ///< `batch` also replaces first dimensions that the file fixes
  std::optional<std::int64_t> open_batch{};  ///< of open first dimensions, where `batch` is absent
};

/// Reads an ONNX file, folds constants, infers every shape and keys every layer. load_onnx_file()
/// has the forms of files. Weights may be inline, external (inside the model's folder only) or
/// absent. Throws Error{kUser} for a file that is not a usable model, naming the node and the
/// values.
[[nodiscard]] Graph read_model(const std::filesystem::path& path, const ReadOptions& options = {});

/// Axis of an input.
struct InputAxis {
  std::string name;                   ///< by which ReadOptions sets it
  std::optional<std::int64_t> fixed;  ///< absent: the file leaves it open
};
/// Lists the axes of the first input of an ONNX file. None: there is no input, or it has none.
/// Throws as load_onnx_file() does.
[[nodiscard]] std::vector<InputAxis> read_first_axes(const std::filesystem::path& path);

/// Reads a model in memory as read_model() does. External data may lie in `folder`. Empty: nowhere.
[[nodiscard]] Graph read_graph(onnx::ModelProto model,
                               const ReadOptions& options = {},
                               const std::filesystem::path& folder = {});

/// Reads a model serialized by protobuf as read_model() does. Also throws Error{kUser} if the bytes
/// are not a model.
[[nodiscard]] Graph graph_of_bytes(const std::string& bytes);

/// Model with the elements of its weights, which is all that an execution needs.
struct LoadedModel {
  Graph graph;
  std::map<ValueId, Tensor> constants;  ///< what layers read and no layer produces, but for what
                                        ///< the model gives no data; dense
};

/// Reads a model as read_graph() does, and all its weights. Also throws Error{kUser} for data that
/// do not fit their shape.
[[nodiscard]] LoadedModel load_model(const onnx::ModelProto& model,
                                     const ReadOptions& options = {},
                                     const std::filesystem::path& folder = {});

}  // namespace plumb::model
