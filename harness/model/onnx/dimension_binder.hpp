// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/model/onnx/onnx_reader.hpp"

namespace onnx {
class GraphProto;
class TypeProto;
}  // namespace onnx

namespace plumb::model {

/// Binder of each dimension of a model's inputs to an extent. The extent is the file's, `--batch`
/// where the file leaves the first dimension open, or `--dim NAME=VALUE`. `--rebatch` replaces what
/// the file fixes. NAME is the file's name of the dimension, or "INPUT.AXIS" for one without
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

  /// Returns what was chosen or changed in place of the file, for people to read.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  /// Throws Error{kUser} if an option named a dimension that the model does not have, or if a batch
  /// was asked for that every input contradicts by a fixed extent.
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

}  // namespace plumb::model
