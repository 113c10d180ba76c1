// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "harness/worker/worker_service.hpp"
#include "runners/engine/candidate.hpp"
#include "runners/engine/candidate_preparation.hpp"
#include "runners/engine/candidate_timing.hpp"

namespace plumb {

/// Measures one key as a request says: prepares, verifies, races and times its variants, and hands
/// on each row.
///
/// Use once. Steps and constants: docs/reference/measurement.md.
class LayerMeasurement {
 public:
  LayerMeasurement(Instruments instruments,
                   const MeasureRequest& request,
                   const std::function<void(Measurement)>& emit);

  /// Emits at least one row for each cache mode. Throws only Error{kInternal}.
  void run();

 private:
  void measure_variants(const LayerSpec& spec);
  void measure_all(std::vector<Candidate>& candidates);
  void measure_references(std::vector<Candidate>& candidates);
  [[nodiscard]] bool everybody() const;  // all that finish the race are measured in full
  [[nodiscard]] double margin() const;
  void race(std::vector<Candidate>& candidates);
  /// Times a race's row with `time`, emits it and sets the candidate's standing.
  void race_row(Candidate& candidate, Seconds begin, const std::function<void(Measurement&)>& time);
  /// Halves those within the margin, in rounds that last twice as long each, until two are left;
  /// returns them, the fastest first, and the library's choice.
  std::vector<std::size_t> play_off(std::vector<Candidate>& candidates);
  void race_one(Candidate& candidate, std::optional<Seconds> best, Measurement& row);
  void drop_losers(std::vector<Candidate>& candidates, Seconds best) const;

  /// Prepares and verifies, unless done; emits the candidate's row if that fails.
  bool make_ready(Candidate& candidate);
  /// With a `rival` a hot block ends early, its row kept, once it is clear that the candidate is
  /// not worthwhile: 1% faster than that.
  void measure_fully(Candidate& candidate,
                     const SamplingPlan& hot,
                     std::span<const CacheMode> caches,
                     std::optional<Seconds> rival = std::nullopt);
  /// Adds what an observation of the program, in passes of their own, shows.
  void look_at(Candidate& candidate, Measurement& row);
  bool may_beat(Candidate& candidate, Seconds rival, const SamplingPlan& full, Measurement& row);

  void emit(Measurement row);
  void emit_failure(const Measurement& shared, Outcome outcome);
  void fill_missing_rows();

  Instruments instruments_;
  const MeasureRequest& request_;
  const std::function<void(Measurement)>& emit_;
  std::vector<CacheMode> caches_;
  std::optional<CandidatePreparation> preparation_;  // from the moment there are candidates
  std::optional<CandidateTiming> timing_;
  std::vector<CacheMode> emitted_;  // cache modes that have a row which is not a race
  std::optional<Outcome> worst_;    // of the variants that could not be timed
  bool timed_ = false;              // some variant was
};

}  // namespace plumb
