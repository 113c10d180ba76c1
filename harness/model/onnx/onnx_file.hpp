// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace plumb::model {

/// Most nodes of a model. The largest exports of language models have some ten thousand.
inline constexpr std::int64_t kMaxNodes = 100'000;
/// Most names in a model: operands and results of nodes, weights, inputs, outputs, declarations.
inline constexpr std::int64_t kMaxNames = 1'000'000;
/// Most elements that are computed in advance, over all constants of a model.
inline constexpr std::size_t kMaxComputedElements = std::size_t{1} << 25U;
/// Most brackets inside each other in a model that is written as text.
inline constexpr std::size_t kMaxTextNesting = 100;

/// Checks that a graph is small enough to be read in seconds. Throws Error{kUser} with the count
/// and the limit.
void check_size(const onnx::GraphProto& graph);

/// Returns how many brackets stand inside each other at most, in ONNX's text syntax.
[[nodiscard]] std::size_t text_nesting(std::string_view text);

/// Loads an ONNX file. The suffix decides the form: `.onnxtxt` is ONNX's text syntax, and
/// `.textproto`, `.prototxt` and `.pbtxt` are protobuf text. Any other file is binary. Throws
/// Error{kUser} for a file that is missing, too large or not ONNX.
[[nodiscard]] onnx::ModelProto load_onnx_file(const std::filesystem::path& path);

/// Returns the order in which each node follows the nodes that it reads from. Otherwise it is the
/// order of the file. Throws Error{kUser}, naming a node, if they form a cycle or two of them write
/// the same value.
[[nodiscard]] std::vector<int> order_nodes(const onnx::GraphProto& graph);

}  // namespace plumb::model
