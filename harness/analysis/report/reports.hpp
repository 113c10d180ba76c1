// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/compare/attribution.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/rounds/boot_comparison.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/analysis/limits/model_limits.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Contents of a report on a run. It is a value; every format renders the same one.
struct RunReport {
  /// Contents of a report on one model of a run.
  struct Model {
    model::Graph graph;
    ModelBounds bounds;
    ModelWhatIfs whatifs;
    ModelLimits limits = {};
    std::vector<ModelWhatIfs::WaterfallLevel> waterfall = {};
    std::string trace = {};  ///< newest document of `plumb trace`; empty: none
    std::optional<results::NamedProfile> profile = {};  ///< newest that the run keeps of the model
    std::vector<CoSchedule> schedules =
        {};                 ///< of the partitions plain and fusion; none: not known
    std::string note = {};  ///< of the suite, for readers of its results; may be empty
  };

  /// One acceptance of a run as a baseline.
  struct Baseline {
    std::string name;  ///< the tag that names it
    results::RunHeader run;
    bool current = false;               ///< the run still has the tag
    std::optional<Timestamp> accepted;  ///< absent: tagged without a record
    std::string who;                    ///< empty: not known
    std::string reason;
    results::RunId previous;  ///< the baseline before it; empty: none
  };

  /// What made a run.
  enum class Kind {
    kRun,
    kSampled,  ///< by a profiler while it was timed
    kImport,
    kCalibration,
    kQualification,
    kBisection,
    kPairs,  ///< of another command
  };

  results::RunRecord run;
  std::vector<Model> models;
  std::vector<SingleLayerResult> layers;       ///< that the suite lists by themselves
  std::vector<results::Exclusion> exclusions;  ///< of the suite, the expired ones too
  std::vector<results::StoredMeasurement> rows;
  std::optional<results::Calibration> calibration;
  Timestamp now{};                   ///< injected: ages of reused rows are relative to it
  results::CommitLink commits = {};  ///< addresses of what the labels name
};

/// Returns the day on which a run began, such as "2026-11-23": that of its exclusions.
[[nodiscard]] inline std::string day_of(const results::RunHeader& run) {
  constexpr std::size_t kDay = 10;  // characters of RFC 3339
  return plumb::to_text(run.started).substr(0, kDay);
}

/// Returns the word of a kind of runs: "run", "sampled", "import", …
[[nodiscard]] inline std::string_view to_text(RunReport::Kind kind) {
  constexpr std::array<std::string_view, 7> kTexts{
      "run", "sampled", "import", "calibration", "qualification", "bisection", "pairs"};
  return enum_text(kTexts, kind);
}

/// Returns what made a run.
[[nodiscard]] inline RunReport::Kind run_kind(const results::RunHeader& header) {
  using Kind = RunReport::Kind;
  if (header.stack == results::kExternalStack) {
    return Kind::kImport;
  }
  if (results::has_mark(header.environment, results::kSampledMark)) {
    return Kind::kSampled;
  }
  if (!results::has_mark(header.environment, results::kPairedMark)) {
    return Kind::kRun;
  }
  constexpr std::array<std::pair<std::string_view, Kind>, 3> kCommands{
      {{"calibrate", Kind::kCalibration},
       {"qualify", Kind::kQualification},
       {"bisect", Kind::kBisection}}};
  for (const auto& [command, kind] : kCommands) {
    if (header.command.size() > 1 && header.command[1] == command) {
      return kind;
    }
  }
  return Kind::kPairs;
}

/// Returns whether a run is a point of a history, which a baseline may be. One side of pairs
/// belongs to its comparison, and a profiler slows the times that it samples.
[[nodiscard]] inline bool is_point_of_history(const results::RunHeader& header) {
  const RunReport::Kind kind = run_kind(header);
  return kind == RunReport::Kind::kRun || kind == RunReport::Kind::kImport;
}

/// Returns why a run is no point of a history, of one that is none.
[[nodiscard]] inline std::string why_no_history(const results::RunHeader& header) {
  const RunReport::Kind kind = run_kind(header);
  return kind == RunReport::Kind::kSampled
             ? "was sampled while it was timed (--profile always), which costs time"
             : "is one side of a comparison in pairs (" + std::string(to_text(kind)) + ")";
}

/// Contents of a report on a comparison of two runs. It is a value; every format renders the same
/// one.
struct ComparisonReport {
  /// Places of layer keys in models, collected layer by layer.
  class Places {
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

  /// Boots of both sides, where boots were compared.
  struct Boots {
    Seconds control{};          ///< that times are scaled to
    std::string baseline_name;  ///< as the user named the side
    std::string candidate_name;
    std::string baseline_left_out;  ///< "; RUN: why" for each run that is not used
    std::string candidate_left_out;
    std::vector<BootComparison::Boot> baseline;
    std::vector<BootComparison::Boot> candidate;
  };

  /// Source of a comparison other than two runs that were each measured once.
  struct Source {
    std::string name;                          ///< takes the place of the runs' names
    std::string method;                        ///< how it was judged, and by which limits
    std::string command;                       ///< that repeats it
    std::vector<EnvironmentDifference> facts;  ///< of both sides
  };

  /// Raw times of a metric that changed, as each run measured them.
  struct Samples {
    std::string series;
    std::vector<Seconds> baseline;
    std::vector<Seconds> candidate;
  };

  /// Exclusion of a suite with what it covers in one comparison.
  struct AppliedExclusion {
    results::Exclusion exclusion;
    bool expired = false;
    std::vector<MetricComparison> metrics;  ///< left out of the verdict; none if it is expired
  };

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
  std::vector<Samples> samples;
  std::vector<FunctionFinding> functions = {};  ///< that explain changes, from profiles
  std::string profile_with = {};  ///< command by which functions would be named; empty: they are,
                                  ///< or nothing changed
  std::vector<results::RunId> calibrations;  ///< that floors come from
  std::optional<Source> source;
  std::optional<Boots> boots;
  results::CommitLink commits = {};  ///< addresses of what the labels name
};

/// Takes the metrics that exclusions cover out of a comparison, and concludes from the rest. If
/// nothing is left that decides, the comparison is inconclusive. `day` is that of the candidate.
/// Returns all exclusions, the expired ones too. Pure.
[[nodiscard]] std::vector<ComparisonReport::AppliedExclusion> apply_exclusions(
    const std::vector<results::Exclusion>& exclusions,
    std::string_view day,
    const ComparisonLimits& limits,
    RunComparison& comparison);

}  // namespace plumb::analysis
