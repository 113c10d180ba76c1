// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::results {

/// One call that a runtime or a library executed.
struct ExecutedCall {
  /// Kinds of work, as far as a trace tells.
  enum class Kind {
    kCompute,
    kReorder,   ///< changes a layout, or transposes
    kCopy,      ///< copies or converts without computing
    kPad,       ///< pads an operand before the layer that could do so itself
    kWait,      ///< synchronises
    kCreation,  ///< makes or compiles a kernel
  };
  Kind kind = Kind::kCompute;
  std::string operation;           ///< as the trace names it: "convolution", "Conv", "aten::conv2d"
  std::string name;                ///< of the node, as the trace has it; empty: it has none
  std::string implementation;      ///< or execution provider
  std::string layouts;             ///< of the operands: "src:aBcd16b …"; empty: unknown
  std::vector<std::string> types;  ///< element types of the operands
  std::vector<std::vector<std::int64_t>> inputs;  ///< shapes of operands; empty: unknown
  std::string problem;                            ///< as oneDNN writes it
  Seconds start{};                                ///< from any origin; see ExecutedTrace::timed
  Seconds duration{};
  std::uint64_t thread = 0;
  std::optional<std::size_t> execution;            ///< of the trace's; absent: of none
  std::optional<std::vector<std::size_t>> layers;  ///< of the model; absent: nobody said
};

/// One execution of a model within a trace.
struct TracedExecution {
  Seconds start{};
  Seconds duration{};
};

/// What a trace says was executed, in the order of the start times.
struct ExecutedTrace {
  std::string format;  ///< "onednn", "onnxruntime" or "kineto"
  std::vector<ExecutedCall> calls;
  std::vector<TracedExecution> executions;  ///< empty: all calls are of one
  bool timed = false;                       ///< calls have start times
  std::size_t left_out = 0;                 ///< lines or events of these kinds that are broken
};

}  // namespace plumb::results
