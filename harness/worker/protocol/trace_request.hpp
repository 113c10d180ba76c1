// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/worker/protocol/execute_request.hpp"

namespace plumb::worker {

/// Request to execute one model in one mode under the library's own profiler.
struct TraceRequest {
  ExecuteRequest model;          ///< with exactly one mode
  std::filesystem::path folder;  ///< exists; the worker writes the profiler's files there
  std::uint64_t executions = 1;  ///< after those that warm up
};

/// File of a trace, as the library's profiler wrote it.
struct TraceFile {
  std::string format;  ///< "onednn", "onnxruntime" or "kineto"
  std::string name;    ///< in the folder of the request
};

/// Traces of a model's executions.
struct Trace {
  std::vector<TraceFile> files;
  std::optional<Seconds> untraced;  ///< median of an execution without the profiler
};

/// Limits of a trace and of its request.
inline constexpr std::uint64_t kMaxTracedExecutions = 1000;
inline constexpr std::size_t kMaxTraceFiles = 64;
inline constexpr std::size_t kMaxTraceFormatBytes = 64;

}  // namespace plumb::worker
