// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/profile/listed_code.hpp"
#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// Listing of one function in words, as every format shows it.
struct ListingContent {
  /// Row of a listing: an instruction, or "…" in the place of some.
  struct Row {
    std::string share;     ///< of the function's samples; empty: it has none
    std::string interval;  ///< of that share, of 95%
    std::string samples;
    std::string offset;  ///< in hexadecimal digits; empty: of no instruction
    std::string instruction;
    bool hot = false;  ///< has many of the function's samples
  };

  std::string title;               ///< the function, its image, step and samples
  std::vector<std::string> notes;  ///< how exact it is, what it leaves out, or why it is empty
  std::vector<Row> rows;
};

/// Statement about a profile that has no listings.
inline constexpr const char* kNoListings =
    "No instructions are kept of this profile: an earlier version took it, or it has no samples.";

/// Describes the instructions that a listing has.
[[nodiscard]] ListingContent describe_listing(const analysis::ListedCode& code);

/// Makes a table of the rows of a listing.
[[nodiscard]] PageTable listing_table(const std::vector<ListingContent::Row>& rows);

}  // namespace plumb::reporting
