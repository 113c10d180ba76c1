// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "harness/model/onnx/onnx_reader.hpp"

namespace plumb::session {

/// Source of the built-in models that suites and runs name. Dimensions in `options` are a model's
/// axes. Every function throws Error{kUser} for an unknown name or axis, with the nearest one.
class ModelSource {
 public:
  ModelSource() = default;
  ModelSource(const ModelSource&) = delete;
  ModelSource& operator=(const ModelSource&) = delete;
  ModelSource(ModelSource&&) = delete;
  ModelSource& operator=(ModelSource&&) = delete;
  virtual ~ModelSource() = default;

  /// Returns every axis of a model with its extent.
  [[nodiscard]] virtual std::map<std::string, std::int64_t> axes(
      const std::string& name, const model::ReadOptions& options) const = 0;
  [[nodiscard]] virtual model::Graph graph(const std::string& name,
                                           const model::ReadOptions& options) const = 0;
  /// Returns a model as the bytes of an ONNX file.
  [[nodiscard]] virtual std::string onnx(const std::string& name,
                                         const model::ReadOptions& options) const = 0;
};

/// Reads a model by its path, or a built-in one by its name. Throws Error{kUser} if it is neither.
[[nodiscard]] model::Graph load_graph(const ModelSource& models,
                                      const std::string& name,
                                      const model::ReadOptions& options);

}  // namespace plumb::session
