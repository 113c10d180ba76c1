// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/worker/protocol/backend.hpp"

namespace plumb::onednn {

/// Makes the CPU backend over the oneDNN library that is mapped into this process. Turns the
/// library's primitive cache off, so that creation times are cold. Throws Error{kEnvironment} if
/// the library cannot make a CPU engine.
[[nodiscard]] std::unique_ptr<worker::Backend> make_onednn_backend();

}  // namespace plumb::onednn
