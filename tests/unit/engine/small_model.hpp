// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace plumb::engine {

/// Model of the zoo at sizes at which its gradients are examined in float64.
struct SmallModel {
  std::string name;
  std::int64_t batch = 4;
  std::map<std::string, std::int64_t> dims{};
  std::int64_t image = 0;  ///< side of its image, where the zoo has one size of it; 0: that size
};
void PrintTo(const SmallModel& model, std::ostream* out);

/// Lists BERT-base and the models of suites/vision30.toml.
[[nodiscard]] std::vector<SmallModel> small_models();

/// Builds the file of a model.
[[nodiscard]] std::string small_file(const SmallModel& model);

}  // namespace plumb::engine
