// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/trace_request.hpp"

namespace plumb::engine {

/// Executes a model in one mode, first without and then under the library's own profiler. Throws
/// Error{kUser} if the model cannot be executed so, or the backend has no profiler.
[[nodiscard]] worker::Trace trace_model(worker::Backend& backend,
                                        const measure::Clock& clock,
                                        const worker::TraceRequest& request);

}  // namespace plumb::engine
