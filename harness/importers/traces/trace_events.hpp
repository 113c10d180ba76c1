// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::importers {

/// Event of a trace in Chrome's format, as far as ONNX Runtime and Kineto say what was executed.
struct TraceEvent {
  std::string name;
  std::string category;
  std::optional<Seconds> start;
  std::optional<Seconds> duration;
  double thread = 0.0;
  std::string operation;
  std::string provider;
  std::vector<std::string> types;
  std::vector<std::vector<std::int64_t>> inputs;
  std::size_t threads = 1;                ///< that shared its work
  std::vector<std::uint32_t> processors;  ///< that they ran on
};

/// Reads the events of a trace one at a time, without keeping the text. Longer texts and lists are
/// cut.
///
/// `take` returns why it takes no more; empty: it goes on. Throws Error{kUser} with that reason,
/// and for what is no such trace or is nested deeper than 64.
void read_trace_events(std::istream& in, const std::function<std::string(TraceEvent&)>& take);

}  // namespace plumb::importers
