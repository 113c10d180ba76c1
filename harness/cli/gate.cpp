// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/gate.hpp"

#include <algorithm>

#include "harness/analysis/bounds/model_load.hpp"
#include "harness/base/error.hpp"

namespace plumb::cli {

int gate_status(std::span<const analysis::ComparisonVerdict> verdicts) {
  const auto any = [&](analysis::ComparisonVerdict verdict) {
    return std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end();
  };
  if (any(analysis::ComparisonVerdict::kBroken) || any(analysis::ComparisonVerdict::kRegressed)) {
    return 1;
  }
  return any(analysis::ComparisonVerdict::kInconclusive) || verdicts.empty()
             ? static_cast<int>(Error::Kind::kTryAgain)
             : 0;
}

int compute_exit_status(const std::map<std::string, std::vector<results::ScenarioResult>>& loads) {
  bool failed = false;
  bool not_executed = false;
  bool inconclusive = false;
  for (const auto& [subject, all] : loads) {
    for (const results::ScenarioResult& load : analysis::newest_loads(all)) {
      const results::LoadVerdict verdict = judge_load(load);
      const bool refused = load.outcome.kind == results::Outcome::Kind::kUnsupported;
      failed = failed || verdict == results::LoadVerdict::kFailed ||
               (verdict == results::LoadVerdict::kNotExecuted && !refused);
      not_executed = not_executed || (verdict == results::LoadVerdict::kNotExecuted && refused);
      inconclusive = inconclusive || verdict == results::LoadVerdict::kInconclusive;
    }
  }
  if (failed) {
    return 1;
  }
  if (not_executed) {
    return static_cast<int>(Error::Kind::kEnvironment);
  }
  return inconclusive ? static_cast<int>(Error::Kind::kTryAgain) : 0;
}

}  // namespace plumb::cli
