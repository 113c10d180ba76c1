// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/results/profile/sampled_profile.hpp"
#include "runners/engine/exec/ready_model.hpp"

namespace plumb::engine {

/// Describes the steps of a prepared model for a profile.
[[nodiscard]] std::vector<results::ProfiledStep> describe_steps(const ReadyModel& ready);

/// Moves the jitdumps that a library wrote somewhere below a folder into it, and returns their
/// names. Copies this process's perf map, `/tmp/perf-PID.map`, where a library wrote one.
[[nodiscard]] std::vector<std::string> collect_code_files(const std::filesystem::path& folder);

/// Sets the rate that the executing thread of a profile had, in its blocks with samples.
void set_rate(results::SampledProfile& profile);

}  // namespace plumb::engine
