// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace onnx {
class ModelProto;
}

namespace plumb::zoo {

/// Names one built-in model.
struct Entry {
  std::string_view name;    ///< "resnet50-v1"
  std::string_view task;    ///< "image classification"
  std::string_view source;  ///< paper and export it follows
  onnx::ModelProto (*build)(std::int64_t batch);
};

/// Lists every built-in model, by name.
[[nodiscard]] std::span<const Entry> entries();

/// Finds a model by name; null if there is none.
[[nodiscard]] const Entry* find(std::string_view name);

/// Names the entry most like `name`, for error messages.
[[nodiscard]] std::string_view nearest_name(std::string_view name);

/// Fills every weight of a weight-free model with seeded random values (He-normal for filters and matrices; BatchNorm
/// variances positive), so that any runtime can load and run it. Repeatable: same seed, same bytes on every machine.
void fill_weights(onnx::ModelProto& model, std::uint64_t seed);

}  // namespace plumb::zoo
