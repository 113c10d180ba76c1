// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace plumb::zoo {

/// One size of a model that its users may vary, beside the batch.
struct ModelAxis {
  std::string_view name;      ///< "sequence"
  std::int64_t standard = 1;  ///< unless the user sets another
  std::int64_t least = 1;
  std::int64_t most = 1;
  std::int64_t step = 1;  ///< extents are multiples of it
};

/// Sizes that a model is built for: the batch, and an extent for each of its axes.
struct Sizes {
  std::int64_t batch = 1;
  std::map<std::string, std::int64_t, std::less<>> axes = {};

  /// Returns the extent of an axis that the model's row in zoo.cpp names.
  [[nodiscard]] std::int64_t operator[](std::string_view axis) const;
};

}  // namespace plumb::zoo
