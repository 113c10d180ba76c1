// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace plumb {

/// Identifies one analysed instance of a model: results of one are never those of another.
struct ModelInstance {
  std::string model;
  std::int64_t batch = 1;
  std::string dtype = "f32";
  std::map<std::string, std::int64_t> dims = {};  ///< its other axes by name: sequence, image…

  auto operator<=>(const ModelInstance&) const = default;
};

/// Writes an instance on one line, such as "bert-base, batch 1, f32, sequence 128" with ", ".
[[nodiscard]] std::string to_text(const ModelInstance& instance, std::string_view separator);

/// Writes what derived records of an instance are filed under: "bert-base|1|f32|sequence=128".
[[nodiscard]] std::string subject_of(const ModelInstance& instance);

}  // namespace plumb
