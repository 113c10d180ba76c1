// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/worker/protocol/backend.hpp"

namespace plumb::onednn {

/// Name of the symbol that the worker looks up in its module.
inline constexpr const char* kModuleEntry = "plumb_onednn_make_backend";
/// Type of that symbol, a function that returns a Backend owned by the caller. May throw Error.
using ModuleEntry = worker::Backend* (*)();

}  // namespace plumb::onednn
