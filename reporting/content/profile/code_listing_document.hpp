// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/results/profile/named_profile.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the instructions of a function of a profile, with their samples and shares of the
/// function. In short, only those near samples.
void write_code_listing(const results::NamedProfile& profile,
                        const results::CodeListing& listing,
                        std::ostream& out,
                        Detail detail);

}  // namespace plumb::reporting
