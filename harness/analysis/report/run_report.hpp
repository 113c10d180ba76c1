// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/single_layer.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/analysis/limits/model_limits.hpp"
#include "harness/analysis/whatif/waterfall.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/results/labels/commit_link.hpp"
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

}  // namespace plumb::analysis
