// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/gate.hpp"

#include <algorithm>

#include "harness/analysis/bounds/model_load.hpp"
#include "harness/base/error.hpp"

namespace plumb {

int gate_status(std::span<const ComparisonVerdict> verdicts) {
  const auto any = [&](ComparisonVerdict verdict) {
    return std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end();
  };
  if (any(ComparisonVerdict::kBroken) || any(ComparisonVerdict::kRegressed)) {
    return 1;
  }
  return any(ComparisonVerdict::kInconclusive) || verdicts.empty()
             ? static_cast<int>(Error::Kind::kTryAgain)
             : 0;
}

int exit_status_of(const std::map<std::string, std::vector<ScenarioResult>>& loads) {
  bool failed = false;
  bool not_executed = false;
  bool inconclusive = false;
  for (const auto& [subject, all] : loads) {
    for (const ScenarioResult& load : newest_loads(all)) {
      const LoadVerdict verdict = verdict_of(load);
      const bool refused = load.outcome.kind == Outcome::Kind::kUnsupported;
      failed = failed || verdict == LoadVerdict::kFailed ||
               (verdict == LoadVerdict::kNotExecuted && !refused);
      not_executed = not_executed || (verdict == LoadVerdict::kNotExecuted && refused);
      inconclusive = inconclusive || verdict == LoadVerdict::kInconclusive;
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

}  // namespace plumb
