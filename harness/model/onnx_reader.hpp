// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "harness/model/graph.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb {

/// Binds what an exported model leaves open.
struct ReadOptions {
  std::optional<std::int64_t>
      batch;  ///< replaces a symbolic or fixed first dimension of every input
  std::map<std::string, std::int64_t> dims;  ///< symbolic dimensions by name (`--dim name=value`)
};

/// Reads an ONNX file (binary, or text for .onnxtxt/.textproto), folds constants, infers every
/// shape and keys every layer. Weights may be inline, external (inside the model's folder only) or
/// absent. Throws Error{kUser} for a file that is not a usable model, naming the node and the
/// values.
[[nodiscard]] Graph read_model(const std::filesystem::path& path, const ReadOptions& options = {});

/// Does the same for a model in memory. `folder` is where external data may lie; empty: nowhere.
[[nodiscard]] Graph graph_of(onnx::ModelProto model,
                             const ReadOptions& options = {},
                             const std::filesystem::path& folder = {});

/// Does the same for a model as protobuf writes it. Throws Error{kUser} too if it is none.
[[nodiscard]] Graph graph_of_bytes(const std::string& bytes);

/// Is a model with the elements of its weights: what it takes to run it.
struct LoadedModel {
  Graph graph;
  std::map<ValueId, Tensor> constants;  ///< what layers read and no layer produces, but for what
                                        ///< the model gives no data; dense
};

/// Does as graph_of, and reads all weights. Throws Error{kUser} too for data that do not fit their
/// shape.
[[nodiscard]] LoadedModel load_model(const onnx::ModelProto& model,
                                     const ReadOptions& options = {},
                                     const std::filesystem::path& folder = {});

}  // namespace plumb
