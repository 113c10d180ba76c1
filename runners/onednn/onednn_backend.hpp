// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/results/run.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::onednn {

/// Describes the oneDNN library that is mapped. Its identity is what a series must not mix:
/// library, instruction set and threading runtime. Its facts say where it came from.
[[nodiscard]] results::Environment describe_library();

/// Makes the CPU backend over the oneDNN library that is mapped into this process. Turns the
/// library's primitive cache off, so that creation times are cold. Throws Error{kEnvironment} if
/// the library cannot make a CPU engine.
[[nodiscard]] std::unique_ptr<worker::Backend> make_onednn_backend();

/// Name of the symbol that the worker looks up in its module.
inline constexpr const char* kModuleEntry = "plumb_onednn_make_backend";
/// Type of that symbol, a function that returns a Backend owned by the caller. May throw Error.
using ModuleEntry = worker::Backend* (*)();

}  // namespace plumb::onednn
