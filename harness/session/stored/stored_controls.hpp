// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/bounds/host_agreement.hpp"
#include "harness/analysis/history/control_class.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

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
