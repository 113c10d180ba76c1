// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "harness/stats/segmentation.hpp"

namespace plumb::session {

/// Reads paired rounds, in seconds, from a JSON file:
/// `{"comparisons":[{"id","end_to_end":{"baseline":[…],"candidate":[…]},"layers":{"NAME":{…}}}]}`.
/// A null stands for a round that failed. At most 256 MiB, 100,000 comparisons or layers, and
/// 20,000 rounds. Throws Error{kUser} naming the file and the place.
[[nodiscard]] std::vector<analysis::PairedComparison::Question> read_paired_samples(
    const std::filesystem::path& file);

/// Annotated histories by which a detector is judged.
struct AnnotatedSet {
  /// One history from another source: one value for each run, oldest first. A NaN is a missing
  /// point.
  struct NamedSeries {
    std::string id;
    std::vector<double> values;
  };

  /// One history with the changes that people marked in it.
  struct Series {
    NamedSeries series;
    std::vector<stats::MarkedChanges> annotators;  ///< one at least
  };

  std::vector<Series> series;
  std::vector<std::string> skipped;  ///< names of series that have several dimensions or no file
};

/// Reads `{"series":[{"id","values":[…]}]}`, where null is a missing point. At most 256 MiB, and
/// 20,000 values for each series. Throws Error{kUser}.
[[nodiscard]] std::vector<AnnotatedSet::NamedSeries> read_series(const std::filesystem::path& file);

/// Reads annotated histories from a file of one of two kinds. The first is
/// `{"series":[{"id","values":[…],"change_points":[…]}]}`. The second is the Turing Change Point
/// Dataset's `annotations.json`: `{NAME:{ANNOTATOR:[…]}}`. Its series are `NAME.json` or
/// `NAME/NAME.json`, in its folder or in `datasets` beside or above it: `{"series":[{"raw":[…]}]}`.
/// Limits as above. Throws Error{kUser}.
[[nodiscard]] AnnotatedSet read_annotated_series(const std::filesystem::path& file);

}  // namespace plumb::session
