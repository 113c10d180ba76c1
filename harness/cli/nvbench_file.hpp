// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/cli/foreign_results.hpp"

namespace plumb {

/// Returns the bytes of a sample file that a result file names, at most so many.
using ReadSampleFile = std::function<std::string(const std::string& name, std::size_t bytes)>;

/// Reads what NVBench writes with `--jsonbin` or `--json`.
///
/// A state is one benchmark, named "BENCHMARK Device=0 AXIS=VALUE". Its time is that of isolated
/// launches on the GPU (cold), else that of a benchmark of the CPU. With `--jsonbin` the samples
/// are read (32-bit floats, little-endian); with `--json` there are mean and deviation only. A
/// skipped state is kSkipped with its reason. Throws Error{kUser} with the place.
[[nodiscard]] ForeignResults read_nvbench(std::string_view text, const ReadSampleFile& read_file);

}  // namespace plumb
