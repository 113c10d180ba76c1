// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/analysis/limits/model_limits.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Contents of a report on one model of a run.
struct ModelReport {
  model::Graph graph;
  ModelBounds bounds;
  ModelWhatIfs whatifs;
  ModelLimits limits = {};
  std::vector<WaterfallLevel> waterfall = {};
  std::string trace = {};  ///< newest document of `plumb trace`; empty: none
  std::optional<results::NamedProfile> profile = {};  ///< newest that the run keeps of the model
  std::vector<CoSchedule> schedules = {};  ///< of the partitions plain and fusion; none: not known
  std::string note = {};  ///< of the suite, for readers of its results; may be empty
};

/// Contents of a report on a run. It is a value; every format renders the same one.
struct RunReport {
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
  std::vector<ModelReport> models;
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

/// One acceptance of a run as a baseline.
struct BaselineEntry {
  std::string name;  ///< the tag that names it
  results::RunHeader run;
  bool current = false;               ///< the run still has the tag
  std::optional<Timestamp> accepted;  ///< absent: tagged without a record
  std::string who;                    ///< empty: not known
  std::string reason;
  results::RunId previous;  ///< the baseline before it; empty: none
};

}  // namespace plumb::analysis
