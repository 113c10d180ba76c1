// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/report/noise_report.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Options for measuring a stack against itself.
struct NoiseStudyOptions {
  std::string stack = "default";
  std::vector<std::string> command;  ///< as it is recorded
  std::optional<Seconds> budget;     ///< no pair begins after it
  Seconds row_timeout{60.0};
  std::size_t pairs = 20;
  int threads = 1;
  std::string device;  ///< see worker::WorkerSetup
  bool models = true;  ///< end to end, too
  analysis::ResamplingPlan plan;
};

/// Measures one stack against itself in pairs, and stores and returns its noise. Earlier such
/// studies of the same environment in the store count, too. Throws Error{kEnvironment} if the stack
/// changed meanwhile.
[[nodiscard]] analysis::NoiseReport study_noise(const SessionContext& context,
                                                const suite::ResolvedSuite& suite,
                                                std::span<const PlannedModel> models,
                                                const NoiseStudyOptions& options);

}  // namespace plumb::session
