// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
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
[[nodiscard]] ListingContent describe_listing(const analysis::FunctionGrowth::Listing& code);

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
[[nodiscard]] std::vector<results::NamedProfile::Stack> list_stacks(
    const results::NamedProfile& profile);

/// Returns the color of a frame, by what it is.
[[nodiscard]] const char* frame_color(const ProfileFrame& frame);

/// Lists the frames of a profile that can be seen in a picture of all, in the same order.
[[nodiscard]] std::vector<ProfileFrame> list_visible_frames(const results::NamedProfile& profile);

/// Lists the frames of a profile, each before what it called: the steps in their order, and the
/// functions of each with most samples first.
[[nodiscard]] std::vector<ProfileFrame> list_frames(const results::NamedProfile& profile);

/// Writes a profile as folded stacks: a line "MODEL;STEP;FUNCTION SAMPLES" for each step and
/// function, as flamegraph.pl and speedscope read them. With calls, each function has a part.
void write_folded_stacks(const results::NamedProfile& profile, std::ostream& out);

/// Writes a profile as a flame graph: an SVG picture of the model, its steps in their order, and
/// the functions of each, as wide as their shares. A tooltip tells name, samples and share.
void write_flame_graph(const results::NamedProfile& profile, std::ostream& out);

/// Writes a profile as the text of `perf script`, sample by sample. Functions are called by their
/// step. Addresses are zeros, and times only number the samples.
void write_perf_script(const results::NamedProfile& profile, std::ostream& out);

/// Writes a profile as a trace in Chrome's format, which Perfetto reads: one mean execution, whose
/// steps follow each other in their order and last as long as their shares, with their functions.
void write_event_trace(const results::NamedProfile& profile, std::ostream& out);

/// Writes a profile in the format of pprof, compressed with gzip. Functions are called by their
/// step. Throws Error{kInternal} if it cannot be compressed.
void write_pprof(const results::NamedProfile& profile, std::ostream& out);

}  // namespace plumb::reporting
