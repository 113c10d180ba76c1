// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::engine {

/// Executes a model while an AddressSampler samples it.
///
/// Blocks of executions with and without samples alternate (ABBA), so that the cost of sampling is
/// known. Throws Error{kUser} if the model cannot be executed in this mode, and Error{kEnvironment}
/// if the machine has no clock for samples.
[[nodiscard]] worker::Profile sample_model(worker::Backend& backend,
                                           const measure::Clock& clock,
                                           const worker::ProfileRequest& request);

/// Executes the request's layer alone in the same way, by the library's choice. `operands` are
/// those of its key. All steps of its program are the layer's.
[[nodiscard]] worker::Profile sample_layer(worker::Backend& backend,
                                           const measure::Clock& clock,
                                           std::span<const model::Tensor> operands,
                                           const worker::ProfileRequest& request);

/// Executes a model in one mode, first without and then under the library's own profiler. Throws
/// Error{kUser} if the model cannot be executed so, or the backend has no profiler.
[[nodiscard]] worker::Trace trace_model(worker::Backend& backend,
                                        const measure::Clock& clock,
                                        const worker::TraceRequest& request);

}  // namespace plumb::engine
