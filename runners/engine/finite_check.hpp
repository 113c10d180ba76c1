// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/model/tensor.hpp"

namespace plumb {

/// Returns the first of the dense elements that is infinite or not a number; absent: there is none,
/// or the type has no such values. Fast enough to look at every answer of a model.
[[nodiscard]] std::optional<std::size_t> first_not_finite(DataType type,
                                                          std::span<const std::byte> elements);

}  // namespace plumb
