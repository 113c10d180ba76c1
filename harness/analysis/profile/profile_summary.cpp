// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/profile_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/measure/sample_summary.hpp"

namespace plumb::analysis {
namespace {

/// Sets the cost from the pairs of blocks, whose executions are equally many.
void compute_cost(const results::NamedProfile& profile, ProfileSummary& summary) {
  std::vector<Seconds> ratios;  // without unit: the summary of samples is one of times
  for (const results::ProfiledBlock& block : profile.blocks) {
    if (block.unsampled > Seconds(0.0)) {
      ratios.emplace_back(block.sampled / block.unsampled);
    }
  }
  const measure::SampleSummary ratio = measure::summarize(ratios);
  summary.pairs = ratios.size();
  if (ratios.empty()) {
    return;
  }
  summary.cost = ratio.median.count() - 1.0;
  if (measure::median_interval_rank(ratios.size())) {
    summary.cost_interval = {ratio.interval.low.count() - 1.0, ratio.interval.high.count() - 1.0};
  }
}

}  // namespace

ProfileSummary summarize_profile(const results::NamedProfile& profile) {
  ProfileSummary summary;
  std::uint64_t in_steps = 0;
  std::uint64_t in_functions = 0;
  for (const results::ProfileCell& cell : profile.cells) {
    std::uint64_t samples = 0;
    for (const results::ProfileCell::Count& count : cell.counts) {
      samples += count.samples;
    }
    summary.samples += samples;
    in_steps += cell.step == results::kNoStep ? 0 : samples;
    in_functions += profile.functions.at(cell.function).name.empty() ? 0 : samples;
  }
  if (summary.samples > 0) {
    const auto whole = static_cast<double>(summary.samples);
    summary.in_steps = static_cast<double>(in_steps) / whole;
    summary.in_functions = static_cast<double>(in_functions) / whole;
  }
  Seconds executed{};
  for (const results::ProfiledBlock& block : profile.blocks) {
    summary.executions += block.executions;
    executed += block.executed();
  }
  if (summary.executions > 0) {
    summary.execution = executed / static_cast<double>(summary.executions);
  }
  compute_cost(profile, summary);
  return summary;
}

bool is_always_sampled(const results::NamedProfile& profile) {
  return !profile.blocks.empty() &&
         std::none_of(profile.blocks.begin(), profile.blocks.end(), [](const auto& block) {
           return block.unsampled > Seconds(0.0);
         });
}

std::string name_of(const results::ProfiledFunction& function) {
  if (!function.name.empty()) {
    return function.name;
  }
  return function.image.starts_with('[') ? function.image : fmt::format("[{}]", function.image);
}

std::string step_name(const results::NamedProfile& profile, std::uint32_t step) {
  return step == results::kNoStep ? "(between steps)" : profile.step_names.at(step);
}

}  // namespace plumb::analysis
