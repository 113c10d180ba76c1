// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/qualify/qualification.hpp"
#include "harness/results/execution.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Returns the modes in which pairs execute models unless others are named: plain and fused.
[[nodiscard]] std::vector<results::ExecutionMode> default_paired_modes();

/// Two runs that are measured in pairs, from their beginning to their end.
class PairedSession {
 public:
  /// Cross-replay: layers measured again to find out why they regressed.
  ///
  /// A first pair of processes races all variants, to find the fastest of each side. The pairs that
  /// follow measure it and the baseline's choice on both sides, in the order ABBA. All processes
  /// are fresh. Every row is stored in the run of its side, with process numbers from
  /// `first_process` on.
  class Replay {
   public:
    /// A request to try one layer with the baseline's choice in the candidate.
    struct Request {
      model::LayerKey key;
      std::string chosen;  ///< the baseline's choice
    };

    Replay(store::Store& store,
           PairedRounds::Side baseline,
           PairedRounds::Side candidate,
           Seconds row_timeout,
           std::int64_t first_process,
           const std::atomic<bool>& stop);

    /// Returns one answer for each request, in order. When the user stops it, missing answers stay
    /// empty.
    [[nodiscard]] std::vector<analysis::Qualification::ReplayTimes> run(
        std::span<const Request> requests, const std::function<void(const std::string&)>& report);

   private:
    struct Side {
      PairedRounds::Side side;
      std::vector<std::string> best;      ///< by request; empty: nothing was timed
      std::vector<std::string> replayed;  ///< likewise
    };
    using Times = std::map<std::string, double>;  ///< seconds by variant

    void race(Side& side, std::span<const Request> requests, bool candidate);
    [[nodiscard]] std::vector<Times> measure(const Side& side, std::span<const Request> requests);
    [[nodiscard]] std::vector<results::Measurement> rows(
        std::unique_ptr<worker::WorkerProcess>& worker,
        const Side& side,
        const worker::WorkerService::MeasureRequest& request);

    store::Store& store_;
    Side baseline_;
    Side candidate_;
    Seconds row_timeout_;
    std::int64_t process_;
    const std::atomic<bool>& stop_;
  };

  /// Options for measuring in pairs.
  struct Options {
    WorkerChoice worker{};               ///< with the stack of a side that names no other
    std::vector<std::string> command{};  ///< as it is recorded
    std::size_t pairs = 20;              ///< at most
    std::optional<Seconds> budget{};     ///< no pair begins after it
    Seconds row_timeout{60.0};           ///< of silence from a worker
    /// Of models end to end, as collect_work() takes them. None: layers only.
    std::vector<results::ExecutionMode> modes = default_paired_modes();
  };

  /// One side of paired rounds, with the header of its run, which has not begun yet.
  struct Run {
    PairedRounds::Side side;
    results::RunHeader header;
  };

  /// Begins both runs in the store. Keeps a reference to the store.
  PairedSession(store::Store& store, Run baseline, Run candidate);

  [[nodiscard]] const PairedRounds::Side& baseline() const { return baseline_.side; }
  [[nodiscard]] const PairedRounds::Side& candidate() const { return candidate_.side; }
  /// Returns a line for each file of a stack that changed while it was measured.
  [[nodiscard]] std::vector<std::string> stack_faults() const;
  /// Ends both runs in this state.
  void finish(results::RunState state);

 private:
  Run baseline_;
  Run candidate_;
  RunSession baseline_session_;
  RunSession candidate_session_;
};

/// Makes the side of a stack, whatever stack the options name, with the environment that a worker
/// describes. The environment's method says "paired", because short samples of many processes must
/// not be mixed with a run's, nor reused for them.
[[nodiscard]] PairedSession::Run paired_run(const std::string& stack,
                                            const suite::ResolvedSuite& suite,
                                            std::span<const PlannedModel> models,
                                            const PairedSession::Options& options);

/// Checks that two sides differ only in their stacks: libraries, and the variables that they set.
/// Throws Error{kRefused}.
void refuse_unlike(const PairedSession::Run& baseline, const PairedSession::Run& candidate);

/// Returns what both sides measure: the suite's layers, each once, and its models in the given
/// modes. A mode of another type is for models in f32 only, and models in 8 bits are not executed.
/// None of the modes may need times, as best_variant does. Shapes that alternate are executed by
/// themselves, which is logged and said in `left_out`.
[[nodiscard]] PairedRounds::Work collect_work(const ModelSource& source,
                                              const suite::ResolvedSuite& suite,
                                              std::span<const PlannedModel> models,
                                              std::span<const results::ExecutionMode> modes);

}  // namespace plumb::session
