// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/importers/imported_results.hpp"

namespace plumb::importers {

/// Reads a result file of airspeed velocity (asv), version 2: the results of one commit. Pure.
///
/// - Benchmarks of time count: `time_…` and `timeraw_…`. Values of others are counted as left out.
/// - With parameters, each combination is a benchmark "name(first, second)".
/// - Samples are taken where they were kept. Otherwise the median is, with its 99% interval, which
///   is wider than the 95% of other rows. A median alone is one sample.
/// - A null is a benchmark that failed: kUnsupported. A NaN is one that was skipped.
/// - The machine is `params.machine` and its number of processors. The commit is the version.
///
/// Throws Error{kUser} with the benchmark, for a text that is no such file, and if it has no
/// benchmark of time.
[[nodiscard]] ImportedResults read_asv(std::string_view text);

}  // namespace plumb::importers
