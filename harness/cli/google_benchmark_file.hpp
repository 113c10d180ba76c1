// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/cli/foreign_results.hpp"

namespace plumb {

/// Reads what Google Benchmark 1.5 or later writes with `--benchmark_out_format=json`.
///
/// Each repetition is a sample (`real_time`, a mean over its iterations). Aggregates and fits of
/// complexity are left out. A benchmark that ended with an error is kUnsupported with its message,
/// a skipped one kSkipped. Throws Error{kUser} with the place for what is not such a file, a time
/// that is not positive, a repetition that is missing or there twice, and a file with aggregates
/// only. Pure.
[[nodiscard]] ForeignResults read_google_benchmark(std::string_view text);

}  // namespace plumb
