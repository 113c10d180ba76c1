// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/qualify/qualification.hpp"
#include "harness/session/paired/paired_rounds.hpp"

namespace plumb::session {

/// Cross-replay: layers measured again to find out why they regressed.
///
/// A first pair of processes races all variants, to find the fastest of each side. The pairs that
/// follow measure it and the baseline's choice on both sides, in the order ABBA. All processes are
/// fresh. Every row is stored in the run of its side, with process numbers from `first_process` on.
class LayerReplay {
 public:
  /// A request to try one layer with the baseline's choice in the candidate.
  struct Request {
    model::LayerKey key;
    std::string chosen;  ///< the baseline's choice
  };

  LayerReplay(store::Store& store,
              PairedSide baseline,
              PairedSide candidate,
              Seconds row_timeout,
              std::int64_t first_process,
              const std::atomic<bool>& stop);

  /// Returns one answer for each request, in order. When the user stops it, missing answers stay
  /// empty.
  [[nodiscard]] std::vector<analysis::ReplayTimes> run(
      std::span<const Request> requests, const std::function<void(const std::string&)>& report);

 private:
  struct Side {
    PairedSide side;
    std::vector<std::string> best;      ///< by request; empty: nothing was timed
    std::vector<std::string> replayed;  ///< likewise
  };
  using Times = std::map<std::string, double>;  ///< seconds by variant

  void race(Side& side, std::span<const Request> requests, bool candidate);
  [[nodiscard]] std::vector<Times> measure(const Side& side, std::span<const Request> requests);
  [[nodiscard]] std::vector<results::Measurement> rows(
      std::unique_ptr<worker::WorkerProcess>& worker,
      const Side& side,
      const worker::MeasureRequest& request);

  store::Store& store_;
  Side baseline_;
  Side candidate_;
  Seconds row_timeout_;
  std::int64_t process_;
  const std::atomic<bool>& stop_;
};

}  // namespace plumb::session
