// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

/// Limit of what the descriptions of a trace may take in memory.
inline constexpr std::size_t kMaxDescriptionBytes = std::size_t{256} << 20;

/// Descriptions of a trace's calls, each kept once.
///
/// A reader finds one by a text of its own that says the same, so a call that was seen before costs
/// no parsing and no memory.
class DescriptionTable {
 public:
  /// Returns the number of the description that was added with this text.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const;
  /// Adds a description and returns its number. Throws Error{kUser} if there are too many.
  std::uint32_t add(std::string_view text, results::ExecutedTrace::Description description);
  [[nodiscard]] const results::ExecutedTrace::Description& at(std::uint32_t number) const {
    return descriptions_[number];
  }
  [[nodiscard]] std::vector<results::ExecutedTrace::Description> take() && {
    return std::move(descriptions_);
  }

 private:
  /// Hash of a text that need not be a std::string.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<results::ExecutedTrace::Description> descriptions_;
  std::size_t bytes_ = 0;
};

/// Reads a log line by line, of which it keeps one. What is behind 64 KiB of a line is left out.
void read_lines(std::istream& in, const std::function<void(std::string_view)>& take);

/// Divides a text at each separator, into at most 64 parts.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// Returns the kind of work that an operator of ONNX Runtime or PyTorch does.
[[nodiscard]] results::ExecutedTrace::Call::Kind kind_of_operator(std::string_view operation);

/// Returns the outermost calls of each thread. Copies and pads within them are calls of their own,
/// and their time is taken from the call around them, whose operation is their name.
[[nodiscard]] std::vector<results::ExecutedTrace::TracedCall> outermost_calls(
    std::vector<results::ExecutedTrace::TracedCall> calls, DescriptionTable& descriptions);

/// Gives each call the layer of the range that surrounds it in its thread.
///
/// Ranges are calls whose descriptions have an output, and do not overlap in a thread. `calls` and
/// the result are in the order of outermost_calls().
void place_in_ranges(std::vector<results::ExecutedTrace::TracedCall>& calls,
                     std::vector<results::ExecutedTrace::TracedCall> ranges,
                     DescriptionTable& descriptions);

}  // namespace plumb::importers
