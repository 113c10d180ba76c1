// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/measure/sampler.hpp"

namespace plumb {

/// Runs `block` as the one iteration of a micro-benchmark that Google Benchmark registers under
/// `name`, filters and reports; its time is the samples' total. Absent if `filter` (a regular
/// expression; empty: all) leaves it out. Rethrows what the block throws. Not thread-safe: the
/// library's registry is one a process.
[[nodiscard]] std::optional<Samples> run_as_benchmark(const std::string& name,
                                                      const std::string& filter,
                                                      const std::function<Samples()>& block);

}  // namespace plumb
