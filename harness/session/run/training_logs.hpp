// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>

#include "harness/results/run.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Writes MLPerf Training's logs of a run's steps below a folder, those of the first process that
/// timed each mode. Earlier logs there are replaced. Throws Error{kEnvironment} if they cannot be
/// written.
void write_training_logs(const store::Store& store,
                         const results::RunHeader& run,
                         std::span<const PlannedModel> models,
                         const std::filesystem::path& folder);

}  // namespace plumb::session
