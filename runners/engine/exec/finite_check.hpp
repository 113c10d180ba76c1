// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/model/key/tensor.hpp"

namespace plumb::engine {

/// Returns the index of the first dense element that is infinite or not a number. Returns nothing
/// if there is none, or if the type has no such values. Fast enough to check every answer of a
/// model.
[[nodiscard]] std::optional<std::size_t> first_not_finite(model::DataType type,
                                                          std::span<const std::byte> elements);

}  // namespace plumb::engine
