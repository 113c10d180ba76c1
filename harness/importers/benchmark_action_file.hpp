// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/importers/imported_results.hpp"

namespace plumb::importers {

/// Reads the `data.js` of github-action-benchmark, or the same document as JSON. Pure.
///
/// The entries of one commit are one run, in all suites of the file. With several suites, names are
/// "SUITE/NAME". A value is one sample, and a name that comes again in an entry is a repetition.
/// Values whose unit is not a time, such as "iter/sec", are counted as left out. `range` is left
/// out too: what it means differs from tool to tool.
///
/// Throws Error{kUser} with the place, for a text that is no such file, and if no value is a time.
[[nodiscard]] ImportedHistory read_benchmark_action(std::string_view text);

}  // namespace plumb::importers
