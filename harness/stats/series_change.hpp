// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace plumb::stats {

/// One place where a series changes to another level, or to another scatter around its level.
struct ChangePoint {
  std::size_t index = 0;  ///< first point of the new level, from 0
  double before = 0.0;    ///< median of the earlier level; or its deviation relative to the level,
                          ///< absolute for values that are not positive
  double after = 0.0;     ///< likewise of the later level
  /// 1 − the expected number of change points in a quiet series that explain as much. By simulation
  /// it is 0.99 where the penalty is just met. The rest is divided by e for every 2 gained in twice
  /// the log-likelihood.
  double confidence = 0.0;
};

/// One change of a series with two states that does not change both levels alike. It is a change of
/// a level or of a share.
struct StateChange : ChangePoint {
  enum class Kind {
    kLowLevel,   ///< the level of the lower state
    kHighLevel,  ///< the level of the higher state
    kHighShare   ///< the share of points in the higher state
  };
  Kind kind = Kind::kHighShare;
};

[[nodiscard]] std::string_view to_text(StateChange::Kind kind);  ///< "low_level", …

/// Gradual rise of a series' level by steps that are each too small to be detected.
struct Creep {
  std::size_t best_index = 0;  ///< middle of the window of the best level
  double best = 0.0;           ///< median of that window
  double newest = 0.0;         ///< median of the newest window
};

/// Cumulated relative rise from which creep is reported.
inline constexpr double kMinCreep = 0.05;

/// Compares the newest level of a series with the best one that it has had. Both are medians of
/// eleven points.
///
/// The rise must reach kMinCreep and six standard errors of such a median. The errors come from
/// medians of adjacent windows, so that autocorrelated noise counts in full. Needs 55 positive
/// values, oldest first. Absent: fewer values, or no creep. Pure.
[[nodiscard]] std::optional<Creep> find_creep(std::span<const double> values);

}  // namespace plumb::stats
