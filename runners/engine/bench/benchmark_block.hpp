// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/measure/sampler.hpp"

namespace plumb {

/// Runs `block` as the only iteration of a micro-benchmark in Google Benchmark, registered under
/// `name`.
///
/// The library filters and reports it; the reported time is the samples' total. Returns nothing if
/// `filter` (a regular expression, empty for all) excludes the name. Rethrows what the block
/// throws. Not thread-safe, because the library has one registry for the process.
[[nodiscard]] std::optional<Samples> run_as_benchmark(const std::string& name,
                                                      const std::string& filter,
                                                      const std::function<Samples()>& block);

}  // namespace plumb
