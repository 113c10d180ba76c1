// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"

namespace plumb::results {

/// Times of built-in control code, which no library under test touches. If they differ between two
/// processes, the machine drifted. A worker measures them as layers of the keys below.
struct Controls {
  /// The key of each control, and where its time lies.
  struct Time {
    const char* key;
    Seconds Controls::*time;
  };

  Seconds floor{};        ///< of the harness, per execution
  Seconds product{};      ///< a fixed product of two f32 matrices
  Seconds copy{};         ///< a fixed copy, beyond a core's cache
  std::string host = {};  ///< that was measured, see measuring_host(); empty: it is not known
};

/// Kind of the records that a run stores of its controls. The subject is the boot's id.
inline constexpr const char* kControlsRecord = "controls";
/// Writes controls as JSON for the store.
[[nodiscard]] std::string to_json(const Controls& controls);
/// Reads what to_json wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] Controls controls_from_json(std::string_view json);
inline constexpr std::string_view kControlPrefix = "control:";
inline constexpr const char* kFloorKey = "control:floor";
inline constexpr const char* kProductKey = "control:product";
inline constexpr const char* kCopyKey = "control:copy";
inline constexpr Controls::Time kControlTimes[] = {
    {kFloorKey, &Controls::floor}, {kProductKey, &Controls::product}, {kCopyKey, &Controls::copy}};

/// One model in one mode: subject_of() the instance, then the mode's text.
using ModelMode = std::pair<std::string, std::string>;

/// One pair of restarted worker processes, which took turns.
struct PairedRound {
  /// Times of one pair: of the baseline and of the candidate, positive where the rows' are.
  struct Times {
    Seconds baseline{};
    Seconds candidate{};
  };

  /// Measurements of one worker process of a round. Only the store has their raw samples.
  struct Side {
    std::optional<Controls> controls;               ///< absent: the worker died before
    std::map<model::LayerKey, Measurement> layers;  ///< the library's own choice, hot
    std::map<ModelMode, Execution> models;
    std::int64_t crashes = 0;
    std::int64_t timeouts = 0;
  };

  std::size_t number = 0;  ///< from 1; the process of its rows
  bool baseline_first = true;
  bool complete = true;  ///< false: the user stopped it
  Side baseline;
  Side candidate;
};

/// Returns the times that a pair of rows has in comparisons, floor-corrected. Both must be timed.
///
/// Without turns, these are the medians. Rows that took turns are compared turn by turn: the ratio
/// is the median of those of neighbouring turns, and the level the geometric mean of both medians.
/// A machine that is slow for part of the time then affects both sides alike. Pure.
[[nodiscard]] PairedRound::Times pair_times(const Measurement& baseline,
                                            const Measurement& candidate);

}  // namespace plumb::results
