// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/explained_change.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/analysis/profile/profile_summary.hpp"

namespace plumb::analysis {
namespace {

/// Image of the one function that stands for all steps that are not chosen.
constexpr const char* kOtherSteps = "(other steps)";

bool is_chosen(const results::NamedProfile& profile,
               const results::ProfileCell& cell,
               const StepChoice& chosen) {
  return !chosen || (cell.step != results::kNoStep && chosen(profile.steps[cell.step]));
}

/// Puts the samples of all other steps into one function.
results::NamedProfile reduce(results::NamedProfile profile, const StepChoice& chosen) {
  const auto others = static_cast<std::uint32_t>(profile.functions.size());
  profile.functions.push_back({"", kOtherSteps});
  for (results::ProfileCell& cell : profile.cells) {
    if (!is_chosen(profile, cell, chosen)) {
      cell.function = others;
    }
  }
  return profile;
}

}  // namespace

std::uint64_t count_samples(const results::NamedProfile& profile, const StepChoice& chosen) {
  std::uint64_t samples = 0;
  for (const results::ProfileCell& cell : profile.cells) {
    for (const results::ProfileCell::Count& count : cell.counts) {
      samples += is_chosen(profile, cell, chosen) ? count.samples : 0;
    }
  }
  return samples;
}

std::string find_shortage(const results::NamedProfile& baseline,
                          const results::NamedProfile& candidate) {
  const std::uint64_t before = count_samples(baseline, {});
  const std::uint64_t after = count_samples(candidate, {});
  if (std::min(before, after) >= kMinExplainingSamples &&
      std::min(baseline.blocks.size(), candidate.blocks.size()) >= GroupedSamples::kMinGroups) {
    return {};
  }
  return fmt::format("too few samples: {} in {} blocks and {} in {}, where {} in {} are needed",
                     before,
                     baseline.blocks.size(),
                     after,
                     candidate.blocks.size(),
                     kMinExplainingSamples,
                     GroupedSamples::kMinGroups);
}

void explain_change(const results::NamedProfile& baseline,
                    const results::NamedProfile& candidate,
                    const StepChoice& chosen,
                    FunctionFinding& finding) {
  finding.baseline_samples = count_samples(baseline, chosen);
  finding.candidate_samples = count_samples(candidate, chosen);
  finding.problem = find_shortage(baseline, candidate);
  if (!finding.problem.empty()) {
    return;
  }
  const ProfileDifference difference =
      compute_profile_difference(reduce(baseline, chosen), reduce(candidate, chosen));
  for (const FunctionChange& each : difference.functions) {
    if (each.function.image == kOtherSteps) {
      continue;
    }
    finding.baseline += each.baseline;
    finding.candidate += each.candidate;
    if (each.is_certain()) {
      finding.parts.push_back({name_of(each.function),
                               each.function.image,
                               each.step,
                               each.change(),
                               Seconds(each.interval->low),
                               Seconds(each.interval->high),
                               each.in_baseline,
                               each.in_candidate});
    }
  }
}

}  // namespace plumb::analysis
