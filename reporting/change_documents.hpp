// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "harness/analyze/change_points.hpp"
#include "harness/analyze/paired_comparison.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// What was found in one history.
struct SeriesDetection {
  std::string id;
  Detection detection;
};

/// `plumb compare --samples`
void write_comparisons(std::span<const PairedAnswer> answers, Style style, std::ostream& out);
/// `plumb detect`
void write_detections(std::span<const SeriesDetection> series, Style style, std::ostream& out);

}  // namespace plumb
