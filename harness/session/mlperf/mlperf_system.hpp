// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/results/environment.hpp"

namespace plumb::session {

/// Returns the name of a system in a submission, from processor, device, backend, stack and
/// threads. The mode is part of it, unless it is "plain".
[[nodiscard]] std::string mlperf_system_name(const results::Environment& environment,
                                             const std::string& stack,
                                             const std::string& mode);

/// Writes the description of a system for MLPerf's submission checker, from the facts that
/// `plumb env` prints. What those do not tell is "not recorded". If the file exists, what stands
/// there in place of "not recorded" is kept. Throws Error{kEnvironment} if it cannot be written.
void write_mlperf_system(const std::filesystem::path& file,
                         const results::Environment& environment,
                         const std::string& system,
                         const std::string& submitter);

}  // namespace plumb::session
