// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/gate.hpp"

#include <algorithm>

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

}  // namespace plumb
