// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/importers/imported_results.hpp"

namespace plumb::importers {

/// Reads a JSON result file of Google Benchmark (`--benchmark_out_format=json`), of any version.
/// Pure.
///
/// Each repetition is a sample: its `real_time`, a mean over its iterations. A benchmark of which
/// there are only aggregates has their mean and deviation. Other aggregates and fits of complexity
/// are left out. A benchmark that ended with an error is kUnsupported with its message. A skipped
/// one is kSkipped. A date without a zone is taken as UTC, and the fact `benchmark.date` says so.
///
/// Throws Error{kUser}, with the place or the benchmark, if the text is not such a file, a time is
/// not positive, a repetition is missing or there twice, or there is no benchmark.
[[nodiscard]] ImportedResults read_google_benchmark(std::string_view text);

}  // namespace plumb::importers
