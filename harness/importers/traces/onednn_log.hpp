// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>

#include "harness/results/trace/executed_trace.hpp"

namespace plumb::importers {

/// Limits of a trace: more calls are an error, longer texts are cut.
inline constexpr std::size_t kMaxCalls = 2'000'000;
inline constexpr std::size_t kMaxTraceText = 512;

/// Reads oneDNN's verbose log, of all versions from 2.0 on, between any other lines.
///
/// A template line of the log says in which order the fields are. Lines that a worker of Plumbline
/// adds say which layers a step executes:
///
///   plumb_threads,THREADS,PROCESSORS THAT THEY HAVE
///   plumb_execution,begin|end,SECONDS SINCE 1970
///   plumb_step,INDEX,SECONDS SINCE 1970,LAYER+LAYER
///   plumb_step_end,SECONDS
///
/// Reads a line at a time. Broken lines are counted. Throws Error{kUser} if there are too many
/// calls.
[[nodiscard]] results::ExecutedTrace read_onednn_log(std::istream& in);

}  // namespace plumb::importers
