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

/// Returns what made a run: "run", "sampled" by a profiler while it was timed, "import",
/// "calibration", "qualification", "bisection", or "pairs" of another command.
[[nodiscard]] inline std::string_view run_kind(const results::RunHeader& header) {
  if (header.stack == "external") {
    return "import";
  }
  if (results::has_mark(header.environment, results::kSampledMark)) {
    return "sampled";
  }
  if (!results::has_mark(header.environment, results::kPairedMark)) {
    return "run";
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kCommands{
      {{"calibrate", "calibration"}, {"qualify", "qualification"}, {"bisect", "bisection"}}};
  for (const auto& [command, kind] : kCommands) {
    if (header.command.size() > 1 && header.command[1] == command) {
      return kind;
    }
  }
  return "pairs";
}

/// Returns whether a run is a point of a history, which a baseline may be. One side of pairs
/// belongs to its comparison, and a profiler slows the times that it samples.
[[nodiscard]] inline bool is_point_of_history(const results::RunHeader& header) {
  const std::string_view kind = run_kind(header);
  return kind == "run" || kind == "import";
}

/// Returns why a run is no point of a history, of one that is none.
[[nodiscard]] inline std::string why_no_history(const results::RunHeader& header) {
  const std::string_view kind = run_kind(header);
  return kind == "sampled" ? "was sampled while it was timed (--profile always), which costs time"
                           : "is one side of a comparison in pairs (" + std::string(kind) + ")";
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
