// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/suite/suite.hpp"
#include "harness/worker/protocol/load_request.hpp"

namespace plumb::session {

/// Returns the load that a scenario of a suite asks for, without budget. Absent if its only limits
/// are on tokens: these are not judged here.
[[nodiscard]] std::optional<loadgen::RequestedLoad> load_of(const suite::Scenario& scenario);

/// Returns the batch sizes that are prepared for a scenario: one sample and the largest batch.
/// Where batches are of any size, the powers of two between are added.
[[nodiscard]] std::vector<std::size_t> list_buckets(const suite::Scenario& scenario);

/// Returns the batching policy of a scenario.
[[nodiscard]] loadgen::BatchPolicy batches_of(const suite::Scenario& scenario);

/// Checks every scenario of a suite before anything is measured. Throws Error{kUser} with the model
/// and the scenario.
void check_loads(const suite::ResolvedSuite& suite);

}  // namespace plumb::session
