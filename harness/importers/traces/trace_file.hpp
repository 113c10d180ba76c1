// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
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

/// Reads a trace in Chrome's event format: ONNX Runtime's profile, or Kineto's of PyTorch.
///
/// Of ONNX Runtime the kernels are calls, and each `model_run` is an execution. Of Kineto the
/// outermost operators of each thread are calls, and copies and pads inside of them are calls of
/// their own; each `ProfilerStep` is an execution. Calls in a range that is named
/// `plumb_layer,OUTPUT` are of the layer with this first output.
///
/// Reads a value at a time, without keeping the text. Throws Error{kUser} for what is neither, is
/// nested deeper than 64, or has too many calls.
[[nodiscard]] results::ExecutedTrace read_event_trace(std::istream& in);

/// Reads the log of cuDNN, cuBLAS or cuBLASLt, or all of them in one.
///
/// Calls are those that compute or change a layout, under the names that oneDNN gives such work.
/// The implementation is the function and its algorithm. These logs have no durations, so each is
/// zero: they tell which call did the work of a runtime's call. An operation that runs as a plan of
/// cuDNN's graphs is not told apart. Throws Error{kUser} if there are too many calls.
[[nodiscard]] results::ExecutedTrace read_cuda_library_log(std::istream& in);

/// Reads a trace by its content: oneDNN's verbose log, events of ONNX Runtime or Kineto, or a log
/// of cuDNN or cuBLAS. Files may be compressed with gzip. Memory is bounded by the number of calls,
/// not by the file's size. Throws Error{kUser} with the file's name if it is none of these, and if
/// it is larger than 8 GiB when unpacked.
[[nodiscard]] results::ExecutedTrace read_trace_file(const std::filesystem::path& file);

}  // namespace plumb::importers
