// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/analysis/compare/rounds/boot_comparison.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/analysis/explain/function_finding.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Exclusion of a suite with what it covers in one comparison.
struct AppliedExclusion {
  results::Exclusion exclusion;
  bool expired = false;
  std::vector<MetricComparison> metrics;  ///< left out of the verdict; none if it is expired
};

/// Takes the metrics that exclusions cover out of a comparison, and concludes from the rest. If
/// nothing is left that decides, the comparison is inconclusive. `day` is that of the candidate.
/// Returns all exclusions, the expired ones too. Pure.
[[nodiscard]] std::vector<AppliedExclusion> apply_exclusions(
    const std::vector<results::Exclusion>& exclusions,
    std::string_view day,
    const ComparisonLimits& limits,
    RunComparison& comparison);

/// Raw times of a metric that changed, as each run measured them.
struct MetricSamples {
  std::string series;
  std::vector<Seconds> baseline;
  std::vector<Seconds> candidate;
};

/// Source of a comparison other than two runs that were each measured once.
struct ComparisonSource {
  std::string name;                          ///< takes the place of the runs' names
  std::string method;                        ///< how it was judged, and by which limits
  std::string command;                       ///< that repeats it
  std::vector<EnvironmentDifference> facts;  ///< of both sides
};

/// Boots of both sides, where boots were compared.
struct ComparedBoots {
  Seconds control{};          ///< that times are scaled to
  std::string baseline_name;  ///< as the user named the side
  std::string candidate_name;
  std::string baseline_left_out;  ///< "; RUN: why" for each run that is not used
  std::string candidate_left_out;
  std::vector<Boot> baseline;
  std::vector<Boot> candidate;
};

/// Contents of a report on a comparison of two runs. It is a value; every format renders the same
/// one.
struct RunComparisonReport {
  results::RunRecord baseline;
  results::RunRecord candidate;
  std::vector<std::string> varied;  ///< what differs on purpose
  ComparisonLimits limits;
  bool same_software =
      false;  ///< nothing that is recorded tells one run's software from the other's
  std::vector<EnvironmentDifference> environment_diff;
  RunComparison comparison;                   ///< without what is excluded
  std::vector<AppliedExclusion> exclusions;   ///< of the candidate's suite
  std::map<std::string, std::string> places;  ///< of a layer key: "conv1 of lenet, and 2 more"
  std::vector<MetricSamples> samples;
  std::vector<FunctionFinding> functions = {};  ///< that explain changes, from profiles
  std::string profile_with = {};  ///< command by which functions would be named; empty: they are,
                                  ///< or nothing changed
  std::vector<results::RunId> calibrations;  ///< that floors come from
  std::optional<ComparisonSource> source;
  std::optional<ComparedBoots> boots;
  results::CommitLink commits = {};  ///< addresses of what the labels name
};

/// Places of layer keys in models, collected layer by layer.
class LayerPlaces {
 public:
  /// Adds a place of a key: a layer of a model, or the first of the layers that it fuses.
  void add(const model::LayerKey& key, const model::Layer& layer, const ModelInstance& model);
  /// Adds all layers of a model that compute.
  void add_layers(const model::Graph& graph, const ModelInstance& model);

  /// Returns a text for each key: "conv1 of lenet, batch 1, f32, and 2 more".
  [[nodiscard]] std::map<std::string, std::string> texts() const;

 private:
  struct Place {
    std::string first;
    std::size_t count = 0;
  };
  std::map<std::string, Place> places_;
};

}  // namespace plumb::analysis
