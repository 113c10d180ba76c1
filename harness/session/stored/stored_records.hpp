// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/compare/rounds/confirmation.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/qualify/qualification.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Stores a derived record that a run has beside its rows. It rests on no rows, and has this
/// version of the analysis and the present time. A record of shared work that another process has
/// by now is left out.
void put_run_record(store::Store& store,
                    const results::RunId& run,
                    const std::string& kind,
                    const std::string& subject,
                    const std::string& payload);

/// Stores derived records of one kind as put_run_record() does: all of them, or none if the process
/// is killed. Of each: its subject and its payload.
void put_run_records(store::Store& store,
                     const results::RunId& run,
                     const std::string& kind,
                     std::span<const std::pair<std::string, std::string>> records);

/// Reads the exclusions of a run's suite, as they were when it began or was last resumed.
[[nodiscard]] std::vector<results::Exclusion> read_exclusions(const store::Store& store,
                                                              const results::RunId& run);

/// Reads those that hold on the day when the run began.
[[nodiscard]] std::vector<results::Exclusion> holding_exclusions(const store::Store& store,
                                                                 const results::RunHeader& run);

/// Accepts a run as the baseline of a name: tags it and keeps a record. The record has who, when,
/// why and which run had the tag before, and never changes. Throws Error{kUser} for a run that is
/// not finished, or a name that cannot be a tag. `partial` also accepts an interrupted run.
void accept_baseline(store::Store& store,
                     const results::RunRecord& run,
                     const std::string& name,
                     const std::string& who,
                     const std::string& reason,
                     bool partial = false);

/// Returns every acceptance in the store, newest first. Runs with a tag `baseline` or `baseline/…`
/// but without a record are listed too.
[[nodiscard]] std::vector<analysis::RunReport::Baseline> baselines_in(const store::Store& store);

/// Second measurement of what looked slower against a baseline. Later comparisons of these two runs
/// rest on it.
struct StoredConfirmation {
  analysis::PairedConfirmation::Suspects suspects;
  /// Number of the last process before it: fresh ones measured the suspects. Without meaning where
  /// there are `pairs`.
  std::int64_t after_process = 0;
  std::optional<analysis::PairedConfirmation> pairs;  ///< one of each on the baseline's stack
};

/// Stores a confirmation as a record of the candidate's run.
void put_confirmation(store::Store& store,
                      const results::RunId& baseline,
                      const results::RunId& candidate,
                      const StoredConfirmation& confirmation);

/// Reads the newest confirmation of a run against a baseline. Absent: there is none.
[[nodiscard]] std::optional<StoredConfirmation> read_confirmation(const store::Store& store,
                                                                  const results::RunId& baseline,
                                                                  const results::RunId& candidate);

/// Adds the store's earlier answers to the same question, newest first.
[[nodiscard]] analysis::QualificationReport with_history(const store::Store& store,
                                                         analysis::Qualification qualification);

/// Finds the newest qualification that measured two runs. Absent: there is none. Throws
/// Error{kUser} for a run that is not there.
[[nodiscard]] std::optional<analysis::QualificationReport> kept_qualification(
    const store::Store& store, const std::string& baseline, const std::string& candidate);

/// Finds the newest calibration of each series in two environments. A series calibrated in both has
/// the larger minimum effect. An environment's identity decides: machine, stack, driver, threads
/// and method, whether it was measured in pairs or not. `until` leaves later calibrations out, so
/// that a comparison can be repeated as it was.
[[nodiscard]] analysis::CalibratedFloors calibrated_floors(
    const store::Store& store,
    const results::Environment& baseline,
    const results::Environment& candidate,
    const std::optional<Timestamp>& until = {});

/// Learns the noise between runs from the newest 20 finished runs of the baseline's environment.
/// The candidate is left out: it must not influence how it is judged. Runs keep their times for
/// this as records of kind kRunTimesRecord. `until` as above.
[[nodiscard]] analysis::LearnedNoise learned_noise(const store::Store& store,
                                                   const results::RunRecord& baseline,
                                                   const results::RunRecord& candidate,
                                                   const std::optional<Timestamp>& until = {});

/// Reads the controls of the hosts of a run. A host that measured them more than once counts with
/// the fastest times: what slows a machine down passes. The name is empty where the run does not
/// say it. A process that shares the run and measured none is absent in the map's value.
[[nodiscard]] analysis::HostControls read_host_controls(const store::Store& store,
                                                        const results::RunId& run);

/// Reads the controls of each host of many finished runs, in the order of the runs. A run without
/// controls has no reading.
[[nodiscard]] std::vector<analysis::HostHealth::Reading> read_host_readings(
    const store::Store& store, std::span<const results::RunRecord> runs);

}  // namespace plumb::session
