// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/results/trace/executed_trace.hpp"

namespace plumb::importers {

/// Reads the log of cuDNN, cuBLAS or cuBLASLt, or all of them in one.
///
/// Calls are those that compute or change a layout, under the names that oneDNN gives such work.
/// The implementation is the function and its algorithm. These logs have no durations, so each is
/// zero: they tell which call did the work of a runtime's call. An operation that runs as a plan of
/// cuDNN's graphs is not told apart. Throws Error{kUser} if there are too many calls.
[[nodiscard]] results::ExecutedTrace read_cuda_library_log(std::istream& in);

}  // namespace plumb::importers
