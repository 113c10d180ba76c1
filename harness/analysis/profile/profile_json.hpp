// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Makes the document of a profile: everything that it holds, its summary, and its shares.
[[nodiscard]] Json profile_document(const results::NamedProfile& profile);
/// Makes the document of a listing of a profile, with the shares of its instructions.
[[nodiscard]] Json listing_json(const results::NamedProfile& profile,
                                const results::NamedProfile::Listing& listing);
/// Reads such a document back. Throws Error{kUser} that names a field that is not valid.
[[nodiscard]] results::NamedProfile profile_from_json(std::string_view text);

/// Makes the document of a difference between two profiles.
[[nodiscard]] Json profile_difference_document(const results::NamedProfile& baseline,
                                               const results::NamedProfile& candidate,
                                               const ProfileDifference& difference);

}  // namespace plumb::analysis
