// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/analyze/practical_floor.hpp"
#include "harness/store/store.hpp"

namespace plumb {

inline constexpr const char* kNoiseRecord = "noise";

/// Finds what the newest calibration of each series says of either environment; a series
/// calibrated in both has the larger floor. An environment's identity decides, that is machine,
/// stack, driver, threads and method, be it measured in pairs or not. `until` leaves later
/// calibrations out, so that a comparison can be made again as it was.
[[nodiscard]] CalibratedFloors calibrated_floors(const Store& store,
                                                 const Environment& baseline,
                                                 const Environment& candidate,
                                                 const std::optional<Timestamp>& until = {});

/// Learns how much the runs of two runs' environments differ from the newest finished runs of each,
/// the candidate left out: what it is judged by must not know it. Runs keep what that takes as
/// records of kind kRunTimesRecord; `until` as above.
[[nodiscard]] LearnedNoise learned_noise(const Store& store,
                                         const RunRecord& baseline,
                                         const RunRecord& candidate,
                                         const std::optional<Timestamp>& until = {});

}  // namespace plumb
