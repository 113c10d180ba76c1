// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "suites/zoo/sizes.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb::zoo {

/// One built-in model.
///
/// Models are weight-free. A weight is an initializer with a name, a type and a shape but no data:
/// neither raw_data nor a typed field nor external data. Shape inference and this project's reader
/// take that as it is. A checker that insists on data, or a runtime, needs fill_weights() first.
struct Entry {
  std::string_view name;    ///< "resnet50-v1"
  std::string_view task;    ///< "image classification"
  std::string_view source;  ///< paper and export it follows
  onnx::ModelProto (*builder)(const Sizes& sizes);
  std::span<const ModelAxis> axes = {};  ///< what may vary beside the batch
  std::string_view rounds = {};     ///< MLPerf rounds that it belongs to; empty: none
  std::string_view deviations =
      {};  ///< how it differs from the benchmark's model; empty: it does not

  /// Returns the extent of every axis: what `asked` sets, else its standard. Throws Error{kUser}
  /// for a name that is no axis of the model, naming the nearest one, and for an extent that the
  /// model cannot take.
  [[nodiscard]] Sizes sizes(std::int64_t batch,
                            const std::map<std::string, std::int64_t>& asked = {}) const;
  /// Builds the model for sizes(batch, asked).
  [[nodiscard]] onnx::ModelProto build(std::int64_t batch,
                                       const std::map<std::string, std::int64_t>& asked = {}) const;
};

/// Lists every built-in model, by name.
[[nodiscard]] std::span<const Entry> entries();

/// Finds a model by name; null if there is none.
[[nodiscard]] const Entry* find(std::string_view name);

/// Returns the name of the entry most like `name`, for error messages.
[[nodiscard]] std::string_view nearest_name(std::string_view name);

}  // namespace plumb::zoo
