// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/results/profile/named_profile.hpp"

namespace plumb::store {

/// Returns a storable copy of a profile. Its texts are in UTF-8. It has one cell for each step and
/// function, in this order, and no function without samples. Throws Error{kInternal} for a number
/// that is not finite, and for a cell of a step, function or block that the profile does not hold.
[[nodiscard]] results::StoredProfile storable(results::StoredProfile given);

/// Returns the checksum of a storable profile.
[[nodiscard]] std::int64_t profile_checksum(const results::StoredProfile& stored);

}  // namespace plumb::store
