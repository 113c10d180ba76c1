// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "harness/results/profile/named_profile.hpp"
#include "tests/unit/analysis/profile_builder.hpp"

namespace plumb::analysis {

/// Returns a profile of 40 blocks: "conv" by its kernel and perhaps a reorder, "relu" by another.
/// A sample is 1 ms of 100 executions.
inline results::NamedProfile layered_profile(std::uint32_t conv,
                                             std::uint32_t reorder,
                                             std::uint32_t relu = 30) {
  ProfileBuilder builder;
  for (std::uint32_t i = 0; i < 40; ++i) {
    // Neighbours differ a little, so that there is something to draw from. The sum stays.
    const std::uint32_t more = i % 2;
    builder.block(1e-3 * (conv + reorder + relu), 100);
    builder.samples("conv", {"kernel", "generated"}, conv + more);
    builder.samples("conv", {"jit:reorder", "generated"}, reorder);
    builder.samples("relu", {"eltwise", "generated"}, relu - more);
  }
  results::NamedProfile built = builder.build();
  built.steps[0].key = "v1:conv";
  built.steps[0].layers = {0};
  built.steps[1].key = "v1:relu";
  built.steps[1].layers = {1};
  return built;
}

/// Returns whether a step is that of "conv".
inline bool is_conv(const results::SampledProfile::Step& step) {
  return step.key == "v1:conv";
}

/// Returns a profile as a run keeps it.
inline results::StoredProfile stored(results::NamedProfile profile,
                                     const std::string& subject = "lenet|1|f32") {
  return {"01J", subject, {}, std::move(profile)};
}

}  // namespace plumb::analysis
