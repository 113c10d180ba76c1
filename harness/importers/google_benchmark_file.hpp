// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/importers/imported_results.hpp"

namespace plumb {

/// Reads a JSON result file of Google Benchmark 1.5 or later (`--benchmark_out_format=json`). Pure.
///
/// Each repetition is a sample: its `real_time`, a mean over its iterations. Aggregates and fits of
/// complexity are left out. A benchmark that ended with an error is kUnsupported with its message.
/// A skipped one is kSkipped.
///
/// Throws Error{kUser}, with the place or the benchmark, if the text is not such a file, a time is
/// not positive, a repetition is missing or there twice, or there are only aggregates.
[[nodiscard]] ImportedResults read_google_benchmark(std::string_view text);

}  // namespace plumb
