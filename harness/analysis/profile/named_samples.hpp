// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Counts the samples of a profile by step, function and block. `names` has all their addresses.
/// What describes the model is left to the caller.
[[nodiscard]] results::NamedProfile name_samples(const results::SampledProfile& samples,
                                                 results::CodeNames names);

}  // namespace plumb::analysis
