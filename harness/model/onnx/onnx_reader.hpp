// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace onnx {

class GraphProto;
class ModelProto;
class TypeProto;

}  // namespace onnx

namespace plumb::model {

/// Extents for the dimensions that an exported model leaves open.
struct ReadOptions {
  /// Binder of each dimension of a model's inputs to an extent. The extent is the file's, `--batch`
  /// where the file leaves the first dimension open, or `--dim NAME=VALUE`. `--rebatch` replaces
  /// what the file fixes. NAME is the file's name of the dimension, or "INPUT.AXIS" for one without
  /// a name.
  class Binder {
   public:
    explicit Binder(const ReadOptions& options) : options_(&options) {}

    /// Binds the type of one input. Throws Error{kUser} for a dimension that stays open, is
    /// negative, or gets two extents.
    void bind_input(const std::string& input, onnx::TypeProto& type);

    /// Binds the known dimensions of another value's type. The others stay open.
    void bind_value(onnx::TypeProto& type) const;

    /// Returns the batch that the file had fixed where `--batch` replaced it. Empty if there was
    /// none.
    [[nodiscard]] std::optional<std::int64_t> replaced_batch() const { return replaced_batch_; }

    /// Returns what was chosen or changed in place of the file, for people to read.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

    /// Throws Error{kUser} if an option named a dimension that the model does not have, or if a
    /// batch was asked for that every input contradicts by a fixed extent.
    void check_all_used() const;

   private:
    /// Returns the extent of the first dimension of an input, which the file may fix. Empty: open.
    std::optional<std::int64_t> bind_batch(const std::string& input,
                                           const std::string& name,
                                           std::optional<std::int64_t> fixed);

    /// Notes that `--dim` sets the first dimension of an input, where `--batch` may say otherwise.
    void note_named_batch(const std::string& input, std::int64_t extent);

    const ReadOptions* options_;
    std::map<std::string, std::int64_t> bound_;  ///< by the file's names
    std::set<std::string> seen_;
    std::optional<std::int64_t> replaced_batch_;
    bool batch_taken_ = false;   ///< some first dimension is open, or is the batch already
    std::string contradiction_;  ///< the first input that has another extent
    std::vector<std::string> notes_;
  };

  /// Axis of an input.
  struct InputAxis {
    std::string name;                   ///< by which ReadOptions sets it
    std::optional<std::int64_t> fixed;  ///< absent: the file leaves it open
  };

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
/// Lists the axes of the first input of an ONNX file. None: there is no input, or it has none.
/// Throws as load_onnx_file() does.
[[nodiscard]] std::vector<ReadOptions::InputAxis> read_first_axes(
    const std::filesystem::path& path);

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
