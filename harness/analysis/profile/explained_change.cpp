// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/explained_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/analysis/profile/profile_summary.hpp"

namespace plumb::analysis {
namespace {

/// Images of functions that stand for all of some steps.
constexpr std::string_view kChosenSteps = "(chosen steps)";
constexpr std::string_view kOtherSteps = "(other steps)";

bool is_chosen(const results::NamedProfile& profile,
               const results::ProfileCell& cell,
               const StepChoice& chosen) {
  return !chosen || (cell.step != results::kNoStep && chosen(profile.steps[cell.step]));
}

/// Puts the samples of the chosen steps, or those of all others, into one function.
results::NamedProfile join(results::NamedProfile profile,
                           const StepChoice& chosen,
                           std::string_view image) {
  const auto joined = static_cast<std::uint32_t>(profile.functions.size());
  profile.functions.push_back({"", std::string(image)});
  for (results::ProfileCell& cell : profile.cells) {
    if (is_chosen(profile, cell, chosen) == (image == kChosenSteps)) {
      cell.function = joined;
    }
  }
  return profile;
}

/// Sets how the time of the chosen steps differs.
void set_change(const ProfileDifference& difference, FunctionFinding& finding) {
  for (const FunctionChange& each : difference.functions) {
    if (each.function.image == kChosenSteps) {
      finding.baseline = each.baseline;
      finding.candidate = each.candidate;
      if (each.interval) {
        finding.change_low = Seconds(each.interval->low);
        finding.change_high = Seconds(each.interval->high);
      }
    }
  }
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
  finding.interval_of = to_text(std::min(drawn_unit(baseline), drawn_unit(candidate)));
  const results::NamedProfile before = join(baseline, chosen, kOtherSteps);
  const results::NamedProfile after = join(candidate, chosen, kOtherSteps);
  set_change(compute_profile_difference(join(before, chosen, kChosenSteps),
                                        join(after, chosen, kChosenSteps)),
             finding);
  for (const FunctionChange& each : compute_profile_difference(before, after).functions) {
    if (each.function.image != kOtherSteps && each.is_certain()) {
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
