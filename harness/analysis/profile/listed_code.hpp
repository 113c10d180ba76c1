// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Listing of a function with the share that each instruction has of the function's samples.
struct ListedCode {
  results::CodeListing listing;
  std::vector<ProfileShare> shares;  ///< by instruction
  std::optional<DrawnUnit> drawn;    ///< that intervals are by; absent: they are Wilson's
};

/// Computes the shares of a listing's instructions, with their intervals by a bootstrap over the
/// profile's blocks, processes or runs (compute_shares()). A listing of an earlier version has no
/// samples by block: its intervals are Wilson's for independent samples. The profile's blocks are
/// those that the listing was made with. Pure.
[[nodiscard]] ListedCode list_shares(const results::NamedProfile& profile,
                                     results::CodeListing listing);

}  // namespace plumb::analysis
