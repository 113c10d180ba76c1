// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Adds the blocks and samples of another process to a profile of the same model, mode and stack.
/// The rate becomes the mean over blocks of both. Throws Error{kRefused} for another model, mode or
/// clock. Pure.
void merge_profile(const results::NamedProfile& more, results::NamedProfile& profile);

}  // namespace plumb::analysis
