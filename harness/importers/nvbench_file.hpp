// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/importers/imported_results.hpp"

namespace plumb::importers {

/// Reader of a sample file that a result file names. It returns at most so many bytes.
using ReadSampleFile = std::function<std::string(const std::string& name, std::size_t bytes)>;

/// Reads a result file of NVBench, written with `--jsonbin` or `--json`.
///
/// A state is one benchmark, named "BENCHMARK Device=0 AXIS=VALUE". Its time is that of isolated
/// launches on the GPU (cold), or else that of a benchmark of the CPU. With `--jsonbin` the samples
/// are read: 32-bit floats, little-endian. With `--json` there are only mean, deviation and
/// minimum. A skipped state is kSkipped with its reason. Throws Error{kUser} with the place in the
/// file.
[[nodiscard]] ImportedResults read_nvbench(std::string_view text, const ReadSampleFile& read_file);

}  // namespace plumb::importers
