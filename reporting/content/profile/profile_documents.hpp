// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/profile/function_growth.hpp"
#include "harness/analysis/profile/profile_difference.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the instructions of a function of a profile, with their samples and shares of the
/// function. In short, only those near samples.
void write_code_listing(const results::NamedProfile& profile,
                        const results::NamedProfile::Listing& listing,
                        std::ostream& out,
                        Detail detail);

/// Profile to write.
struct ShownProfile {
  const results::NamedProfile& profile;
  const results::NamedProfile::Listing* listing = nullptr;  ///< null: none
};

/// Writes the output of `plumb profile`. In short, the largest shares of steps and functions; in
/// full, all of them, then the steps and the functions by themselves. A listing follows, if there
/// is one, in short only near its samples. The JSON has everything. Of several profiles it is a
/// list.
void write_profiles(std::span<const ShownProfile> shown,
                    OutputMode style,
                    std::ostream& out,
                    Detail detail);

/// Writes the output of `plumb profile diff`: the functions that changed most, and what is not
/// explained by them.
void write_profile_difference(const results::NamedProfile& baseline,
                              const results::NamedProfile& candidate,
                              const analysis::ProfileDifference& difference,
                              OutputMode style,
                              std::ostream& out,
                              Detail detail);

/// Writes the page `/functions`: which functions of each model take more time, or less, than `days`
/// days ago. The model that got slowest comes first.
void write_growth_page(std::span<const analysis::FunctionGrowth> models,
                       int days,
                       std::ostream& out);

}  // namespace plumb::reporting
