// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/base/units.hpp"

namespace plumb {

/// Reads how much memory processes can still take without swapping; absent: the system does not
/// say.
[[nodiscard]] std::optional<Bytes> available_memory();

/// Makes every allocation of this process beyond `most` fail (std::bad_alloc), so that a layer
/// which does not fit costs one row, and not whatever the system would kill. Nothing in a
/// sanitizer's build, whose own reservations are larger than any memory.
void limit_memory(Bytes most);

}  // namespace plumb
