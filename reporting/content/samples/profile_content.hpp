// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/analysis/profile/function_growth.hpp"
#include "harness/results/profile/named_profile.hpp"
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

/// Part of a profile: the model, a step, or a function that a step called.
struct ProfileFrame {
  std::string name;
  std::uint64_t first = 0;  ///< number of its first sample, of all in the order of the frames
  std::uint64_t samples = 0;
  std::size_t depth = 0;  ///< 0: the model; 1: a step; 2 and more: functions, in their callers
  std::string image;      ///< of a function
};

/// Returns the stacks of a profile's samples. Without calls, each is one function of a step.
[[nodiscard]] std::vector<results::ProfiledStack> list_stacks(const results::NamedProfile& profile);

/// Returns the color of a frame, by what it is.
[[nodiscard]] const char* frame_color(const ProfileFrame& frame);

/// Lists the frames of a profile that can be seen in a picture of all, in the same order.
[[nodiscard]] std::vector<ProfileFrame> list_visible_frames(const results::NamedProfile& profile);

/// Lists the frames of a profile, each before what it called: the steps in their order, and the
/// functions of each with most samples first.
[[nodiscard]] std::vector<ProfileFrame> list_frames(const results::NamedProfile& profile);

}  // namespace plumb::reporting
