// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/analysis/bounds/host_agreement.hpp"
#include "harness/analysis/compare/minimum_effect.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

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
[[nodiscard]] std::vector<analysis::HostReading> read_host_readings(
    const store::Store& store, std::span<const results::RunRecord> runs);

}  // namespace plumb::session
