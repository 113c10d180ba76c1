// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "harness/model/onnx_reader.hpp"

namespace onnx {
class GraphProto;
class TypeProto;
}  // namespace onnx

namespace plumb {

/// Binder of every dimension of a model's inputs to its extent. The extent is the file's,
/// `--batch`, or `--dim NAME=VALUE`. NAME is the file's name of the dimension, or "INPUT.AXIS" for
/// one without a name.
class DimensionBinder {
 public:
  explicit DimensionBinder(const ReadOptions& options) : options_(&options) {}

  /// Binds one input's type. Throws Error{kUser} for a dimension that stays open, is negative, or
  /// gets two extents.
  void bind_input(const std::string& input, onnx::TypeProto& type);

  /// Binds what is known of another value's type; what is not stays open.
  void bind_value(onnx::TypeProto& type) const;

  /// Returns the batch that the file had fixed where `--batch` replaced it; empty if none was.
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
