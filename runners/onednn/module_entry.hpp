// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/worker/backend.hpp"

namespace plumb::onednn {

/// Names the one symbol that the worker looks up in its module.
inline constexpr const char* kModuleEntry = "plumb_onednn_make_backend";
/// Type of that symbol: returns a Backend that the caller owns. May throw Error.
using ModuleEntry = Backend* (*)();

}  // namespace plumb::onednn
