// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/analyze/paired_comparison.hpp"
#include "harness/analyze/segmentation_score.hpp"

namespace plumb {

/// One history from elsewhere: one value a run, oldest first; a NaN is a missing point.
struct NamedSeries {
  std::string id;
  std::vector<double> values;
};

/// Reads
/// `{"comparisons":[{"id","end_to_end":{"baseline":[…],"candidate":[…]},"layers":{"NAME":{…}}}]}`:
/// paired rounds in seconds. A null stands for a round that failed. At most 256 MiB, 100,000
/// comparisons or layers. Throws Error{kUser} naming the file and the place.
[[nodiscard]] std::vector<PairedQuestion> read_paired_samples(const std::filesystem::path& file);

/// Reads `{"series":[{"id","values":[…]}]}`, where null is a missing point. At most 256 MiB, 20,000
/// values a series. Throws Error{kUser}.
[[nodiscard]] std::vector<NamedSeries> read_series(const std::filesystem::path& file);

/// One history with the changes that people marked in it.
struct AnnotatedSeries {
  NamedSeries series;
  std::vector<MarkedChanges> annotators;  ///< one at least
};

/// Histories to judge a detector by.
struct AnnotatedSet {
  std::vector<AnnotatedSeries> series;
  std::vector<std::string> skipped;  ///< names of series that have several dimensions or no file
};

/// Reads `{"series":[{"id","values":[…],"change_points":[…]}]}`, or the Turing Change Point
/// Dataset's `annotations.json`: `{NAME:{ANNOTATOR:[…]}}`, whose series are `NAME.json` or
/// `NAME/NAME.json` in its folder or in `datasets` beside or above it:
/// `{"series":[{"raw":[…]}]}`. Limits as above. Throws Error{kUser}.
[[nodiscard]] AnnotatedSet read_annotated_series(const std::filesystem::path& file);

}  // namespace plumb
