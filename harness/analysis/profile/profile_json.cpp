// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/profile_json.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "harness/analysis/profile/function_growth.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/profile/profile_json.hpp"

namespace plumb::analysis {
namespace {

Json interval_json(const std::optional<GroupedSamples::Share::Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}

/// Names what a bootstrap drew for the intervals of a profile. null: it has too few blocks.
Json interval_of(const results::NamedProfile& profile) {
  return profile.blocks.size() >= GroupedSamples::kMinGroups ? Json(to_text(drawn_unit(profile)))
                                                             : Json();
}

/// Lists the runs that a profile is merged from.
Json runs_of(const results::NamedProfile& profile) {
  Json runs = Json::array();
  for (const results::NamedProfile::Run& run : profile.runs) {
    runs.push_back(run.run);
  }
  return runs;
}

/// Adds to each entry of a list its share of the samples.
void add_shares(const std::vector<GroupedSamples::Share>& shares, Json& entries) {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    entries[i].update({{"samples", shares[i].samples},
                       {"share", shares[i].share},
                       {"interval", interval_json(shares[i].interval)}});
  }
}

}  // namespace

Json listing_json(const results::NamedProfile& profile,
                  const results::NamedProfile::Listing& listing) {
  const FunctionGrowth::Listing code = list_shares(profile, listing);
  Json document = results::to_json(listing);
  add_shares(code.shares, document["instructions"]);
  document["interval_of"] = code.drawn ? Json(to_text(*code.drawn)) : Json();
  return document;
}

Json profile_document(const results::NamedProfile& profile) {
  const ProfileSummary summary = summarize_profile(profile);
  Json document = new_document();
  document.update(results::to_json(profile));
  document.update({{"samples", summary.samples},
                   {"share_in_steps", summary.in_steps},
                   {"share_in_functions", summary.in_functions},
                   {"executions", summary.executions},
                   {"execution_seconds", summary.execution.count()},
                   {"cost", number_or_null(summary.cost)},
                   {"cost_interval", interval_json(summary.cost_interval)},
                   {"cost_pairs", summary.pairs}});
  std::vector<GroupedSamples::Share> steps =
      compute_shares(GroupedSamples(profile, rows_of_steps(profile), profile.steps.size() + 1));
  steps.pop_back();  // between steps
  add_shares(steps, document["steps"]);
  add_shares(
      compute_shares(GroupedSamples(profile, rows_of_functions(profile), profile.functions.size())),
      document["functions"]);
  add_shares(compute_shares(GroupedSamples(profile, rows_of_cells(profile), profile.cells.size())),
             document["cells"]);
  document["interval_of"] = interval_of(profile);
  for (std::size_t i = 0; i < profile.listings.size(); ++i) {
    document["listings"][i] = listing_json(profile, profile.listings[i]);
  }
  return document;
}

results::NamedProfile profile_from_json(std::string_view text) {
  return results::named_profile_from_json(results::parse_json(text));
}

Json profile_difference_document(const results::NamedProfile& baseline,
                                 const results::NamedProfile& candidate,
                                 const ProfileDifference& difference) {
  const auto side = [](const results::NamedProfile& profile) {
    return Json{{"mode", profile.mode},
                {"stack", profile.stack},
                {"runs", runs_of(profile)},
                {"interval_of", interval_of(profile)},
                {"always_sampled", is_always_sampled(profile)}};
  };
  Json functions = Json::array();
  for (const ProfileDifference::Function& change : difference.functions) {
    functions.push_back({{"name", change.function.name},
                         {"image", change.function.image},
                         {"step", change.step},
                         {"baseline_seconds", change.baseline.count()},
                         {"candidate_seconds", change.candidate.count()},
                         {"change_seconds", change.change().count()},
                         {"interval", interval_json(change.interval)},
                         {"certain", change.is_certain()},
                         {"in_baseline", change.in_baseline},
                         {"in_candidate", change.in_candidate}});
  }
  Json document = new_document();
  document.update({{"model", baseline.model},
                   {"baseline", side(baseline)},
                   {"candidate", side(candidate)},
                   {"baseline_seconds", difference.baseline.count()},
                   {"candidate_seconds", difference.candidate.count()},
                   {"change_seconds", difference.change().count()},
                   {"interval", interval_json(difference.interval)},
                   {"unexplained_seconds", difference.unexplained().count()},
                   {"functions", std::move(functions)}});
  return document;
}

}  // namespace plumb::analysis
