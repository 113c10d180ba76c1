// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/results/trace/executed_trace.hpp"

namespace plumb::importers {

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

}  // namespace plumb::importers
