// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/analysis/qualify/qualification.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/store/store.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::session {

/// Measurement of two sides in pairs of restarted worker processes. The two processes of a pair
/// live side by side and take turns in the order ABBA; one waits while the other measures.
///
/// Both measure the controls, then each layer hot as its library chooses it, then the models. A
/// layer has six turns of some milliseconds, and a model one for each round of its modes: what the
/// machine does meanwhile affects both sides alike. Rows are appended
/// to their side's run at once, with the round as their process. Models are stored as records of
/// kind "paired_execution". A side's first process of each layer checks its outputs. A worker that
/// dies or falls silent costs its row, and is replaced for the rest of the round.
class PairedRounds {
 public:
  /// Result of measuring two sides until everything was decided, or nothing more could be.
  struct Sequence {
    /// How rounds are judged while they are measured.
    struct Judge {
      std::vector<std::size_t> looks;  ///< numbers of valid rounds
      std::function<analysis::RoundComparison(std::span<const results::PairedRound>)> compare;
    };

    std::vector<results::PairedRound> rounds;
    analysis::RoundComparison comparison;
    std::vector<analysis::Qualification::Look> looks;
    bool budget_ended = false;
  };

  /// One side of a paired measurement: how its workers start, and the run that keeps its rows.
  struct Side {
    worker::WorkerProcess::Options worker;
    results::RunId run;  ///< empty: its rows are handed back, but not kept
    std::function<void(int pid)> before_worker_ends = {};  ///< called with each worker still alive
  };

  /// The layers and models that a round measures on both sides.
  struct Work {
    struct Model {
      std::string subject;  ///< subject_of() the instance
      worker::ExecuteRequest request;
    };
    std::vector<model::LayerKey> layers;
    std::vector<Model> models;
    std::string left_out{};  ///< what of the suite pairs do not measure; empty: nothing
  };

  /// Keeps references to `store` and `stop`. Both runs must have begun, and one run may keep both
  /// sides. A worker may be silent for `row_timeout`. A signal handler may set `stop`: then the
  /// round ends after the row in progress.
  PairedRounds(store::Store& store,
               Side baseline,
               Side candidate,
               Seconds row_timeout,
               const std::atomic<bool>& stop);

  /// Measures the next round. `report` receives what is measured now. Throws Error{kEnvironment} if
  /// a worker cannot be started at all, or if a device erred.
  [[nodiscard]] results::PairedRound measure(const Work& work,
                                             const std::function<void(const std::string&)>& report);

 private:
  /// A side, and what its processes have checked.
  struct SideState {
    Side side;
    std::set<model::LayerKey> verified = {};
    std::set<std::string> verified_models = {};  ///< subjects
  };
  class Process;

  store::Store& store_;
  SideState baseline_;
  SideState candidate_;
  Seconds row_timeout_;
  const std::atomic<bool>& stop_;
  std::size_t rounds_ = 0;
};

/// Measures rounds until the judge leaves no metric open, or its last look is past.
///
/// It also ends when the budget ends, when the user stops, or after one and a half times as many
/// rounds as the last look wants. After each look only open metrics go on: layers one by one,
/// models with all their modes.
[[nodiscard]] PairedRounds::Sequence measure_in_sequence(
    PairedRounds& pairs,
    PairedRounds::Work work,
    const PairedRounds::Sequence::Judge& judge,
    std::optional<Seconds> budget,
    const std::function<void(const ProgressDisplay::Progress&)>& report);

/// Does the same, judged by the sequential rule.
[[nodiscard]] PairedRounds::Sequence measure_in_sequence(
    PairedRounds& pairs,
    PairedRounds::Work work,
    const analysis::SequentialRule& rule,
    const analysis::RoundComparison::Limits& limits,
    std::optional<Seconds> budget,
    const std::function<void(const ProgressDisplay::Progress&)>& report);

}  // namespace plumb::session
