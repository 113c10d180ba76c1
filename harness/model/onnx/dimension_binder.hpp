// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "harness/model/onnx/onnx_reader.hpp"

namespace onnx {
class GraphProto;
class TypeProto;
}  // namespace onnx

namespace plumb {

/// Binder of each dimension of a model's inputs to an extent. The extent is the file's, `--batch`,
/// or `--dim NAME=VALUE`. NAME is the file's name of the dimension, or "INPUT.AXIS" for one without
/// a name.
class DimensionBinder {
 public:
  explicit DimensionBinder(const ReadOptions& options) : options_(&options) {}

  /// Binds the type of one input. Throws Error{kUser} for a dimension that stays open, is negative,
  /// or gets two extents.
  void bind_input(const std::string& input, onnx::TypeProto& type);

  /// Binds the known dimensions of another value's type. The others stay open.
  void bind_value(onnx::TypeProto& type) const;

  /// Returns the batch that the file had fixed where `--batch` replaced it. Empty if there was
  /// none.
  [[nodiscard]] std::optional<std::int64_t> replaced_batch() const { return replaced_batch_; }

  /// Throws Error{kUser} if an option named a dimension that the model does not have.
  void check_all_used() const;

 private:
  const ReadOptions* options_;
  std::map<std::string, std::int64_t> bound_;  ///< by the file's names
  std::set<std::string> seen_;
  std::optional<std::int64_t> replaced_batch_;
};

}  // namespace plumb
