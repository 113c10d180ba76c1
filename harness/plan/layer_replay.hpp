// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/cross_replay.hpp"
#include "harness/plan/paired_rounds.hpp"

namespace plumb {

/// A request to try one layer with the baseline's choice in the candidate.
struct ReplayRequest {
  LayerKey key;
  std::string chosen;  ///< the baseline's choice
};

/// Measures layers again to tell why they regressed: in fresh processes of both sides, in the order
/// ABBA, the baseline's choice on both sides and the fastest variant of each. Which that is, a
/// first pair of processes finds by racing them all; what wins is measured by the pairs that follow
/// only. Every row is kept as its side's run's, from process `first_process` on.
class LayerReplay {
 public:
  LayerReplay(Store& store,
              PairedSide baseline,
              PairedSide candidate,
              Seconds row_timeout,
              std::int64_t first_process,
              const std::atomic<bool>& stop);

  /// Returns one answer a request, in order. When the user stops it, what is missing stays empty.
  [[nodiscard]] std::vector<ReplayTimes> run(std::span<const ReplayRequest> requests,
                                             const std::function<void(const std::string&)>& report);

 private:
  struct Side {
    PairedSide side;
    std::vector<std::string> best;      ///< by request; empty: nothing was timed
    std::vector<std::string> replayed;  ///< likewise
  };
  using Times = std::map<std::string, double>;  ///< by variant

  void race(Side& side, std::span<const ReplayRequest> requests, bool candidate);
  [[nodiscard]] std::vector<Times> measure(const Side& side,
                                           std::span<const ReplayRequest> requests);
  [[nodiscard]] std::vector<Measurement> rows(std::unique_ptr<WorkerProcess>& worker,
                                              const Side& side,
                                              const MeasureRequest& request);

  Store& store_;
  Side baseline_;
  Side candidate_;
  Seconds row_timeout_;
  std::int64_t process_;
  const std::atomic<bool>& stop_;
};

}  // namespace plumb
