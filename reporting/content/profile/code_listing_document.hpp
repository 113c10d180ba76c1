// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/results/profile/code_listing.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes a function's instructions with their samples and shares of the function. In short, only
/// those near samples.
void write_code_listing(const results::CodeListing& listing, std::ostream& out, Detail detail);

}  // namespace plumb::reporting
