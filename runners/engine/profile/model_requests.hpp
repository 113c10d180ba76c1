// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
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
                                           const worker::Profile::Request& request);

/// Executes the request's layer alone in the same way, by the library's choice. `operands` are
/// those of its key. All steps of its program are the layer's.
[[nodiscard]] worker::Profile sample_layer(worker::Backend& backend,
                                           const measure::Clock& clock,
                                           std::span<const model::Tensor> operands,
                                           const worker::Profile::Request& request);

/// Executes a model in one mode, first without and then under the library's own profiler. Throws
/// Error{kUser} if the model cannot be executed so, or the backend has no profiler.
[[nodiscard]] worker::Trace trace_model(worker::Backend& backend,
                                        const measure::Clock& clock,
                                        const worker::Trace::Request& request);

/// Executes a model in several shapes, one execution after the other, and times each.
///
/// A backend that executes all shapes by one program does so (Backend::prepare_shapes()).
/// Otherwise a shape is planned, and its weights are laid out, when it comes for the first time;
/// its program is kept. Inputs are in place before an execution begins. Afterwards the outputs of
/// each shape are compared with those of a program of its own. Throws Error{kUser} if the model
/// cannot be executed so, and Error{kEnvironment} for outputs that differ.
///
/// `watch` gets all executions as one piece of work, which it does once. What it sees beside them
/// is not in the result.
[[nodiscard]] worker::Alternation alternate_shapes(
    worker::Backend& backend,
    const measure::Clock& clock,
    const worker::Alternation::Request& request,
    const std::function<void(const std::function<void()>& work)>& watch);

}  // namespace plumb::engine
