// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "runners/engine/bench/candidate.hpp"

namespace plumb::engine {

/// Returns the indices of the times within `margin` of the shortest, shortest first. `margin` is
/// relative. Absent times are left out. Pure.
[[nodiscard]] std::vector<std::size_t> within_margin(std::span<const std::optional<Seconds>> times,
                                                     double margin);

/// Returns how many of `contestants` remain after a round of successive halving: half, rounded up.
/// The race ends when at most `most` are left (Karnin, Koren and Somekh, ICML 2013, §3).
[[nodiscard]] std::size_t survivors(std::size_t contestants, std::size_t most);

/// Measurement of one key as a request asks: its variants are prepared, verified, raced and timed.
///
/// Each row is emitted as soon as it is complete. Use once. docs/reference/measurement.md describes
/// the steps and constants.
class LayerMeasurement {
 public:
  LayerMeasurement(Candidate::Timing::Instruments instruments,
                   const worker::WorkerService::MeasureRequest& request,
                   const std::function<void(results::Measurement)>& emit,
                   const worker::AwaitTurn& await_turn);

  /// Measures the key and emits at least one row for each cache mode. Throws only Error{kInternal}.
  void run();

 private:
  void measure_variants(const model::LayerSpec& spec);
  void measure_all(std::vector<Candidate>& candidates);
  void measure_references(std::vector<Candidate>& candidates);
  [[nodiscard]] bool keep_all() const;  // all that finish the race
  [[nodiscard]] double margin() const;
  /// Prepares each candidate and times it briefly, except reference implementations.
  void race(std::vector<Candidate>& candidates);
  /// Times a race's row with `time`, emits it and sets the candidate's race time. `begin` is when
  /// the work for the row started.
  void race_row(Candidate& candidate,
                Seconds begin,
                const std::function<void(results::Measurement&)>& time);
  /// Times the candidates within the margin in rounds and keeps the faster half, until two are
  /// left.
  ///
  /// Each round lasts twice as long as the one before. Returns the candidates left, fastest first,
  /// and then the library's choice. If all candidates are kept, there are no rounds.
  std::vector<std::size_t> halving_round(std::vector<Candidate>& candidates);
  /// Times one candidate of the race. Ends early if it is far slower than `best`.
  void race_one(Candidate& candidate, std::optional<Seconds> best, results::Measurement& row);
  /// Frees the programs of candidates beyond the margin of `best`, and those beyond the memory
  /// limit.
  void drop_losers(std::vector<Candidate>& candidates, Seconds best) const;

  /// Prepares and verifies the candidate, unless that is done. Emits its row and returns false if
  /// that fails.
  bool make_ready(Candidate& candidate);
  /// Measures a candidate in each of `caches` and emits the rows. With a `rival`, a hot block ends
  /// early once the candidate is clearly not 1% faster than it. The row is kept.
  void measure_fully(Candidate& candidate,
                     const measure::SamplingPlan& hot,
                     std::span<const results::CacheMode> caches,
                     std::optional<Seconds> rival = std::nullopt);
  /// Adds the attributes and readings of separate passes with counters (Program::collect_counters).
  void look_at(Candidate& candidate, results::Measurement& row);
  /// Times the candidate briefly and returns whether it may still be 1% faster than `rival`. The
  /// low end of the median's interval decides.
  bool may_beat(Candidate& candidate,
                Seconds rival,
                const measure::SamplingPlan& full,
                results::Measurement& row);

  void emit(results::Measurement row);
  void emit_failure(const results::Measurement& shared, results::Outcome outcome);
  void fill_missing_rows();

  Candidate::Timing::Instruments instruments_;
  const worker::WorkerService::MeasureRequest& request_;
  const std::function<void(results::Measurement)>& emit_;
  const worker::AwaitTurn& await_turn_;
  std::vector<results::CacheMode> caches_;
  std::optional<Candidate::Preparation> preparation_;  // once there are candidates
  std::optional<Candidate::Timing> timing_;
  std::vector<results::CacheMode> emitted_;  // cache modes with a row other than a race's
  std::optional<results::Outcome> worst_;    // last failure of a variant, other than a skip
  bool timed_ = false;                       // whether some variant was timed
};

}  // namespace plumb::engine
