// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "harness/results/trace/executed_trace.hpp"

namespace plumb::importers {

/// Reads a trace by its content: oneDNN's verbose log, events of ONNX Runtime or Kineto, or a log
/// of cuDNN or cuBLAS. Files may be compressed with gzip. Memory is bounded by the number of calls,
/// not by the file's size. Throws Error{kUser} with the file's name if it is none of these, and if
/// it is larger than 8 GiB when unpacked.
[[nodiscard]] results::ExecutedTrace read_trace_file(const std::filesystem::path& file);

}  // namespace plumb::importers
