// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace plumb::engine {

/// Team of threads that execute one task after another together. The caller is lane 0. Between two
/// tasks the threads spin for a short time, then sleep.
class LaneTeam {
 public:
  /// Starts `lanes` - 1 threads. Each first calls `begin` with its lane. Throws std::system_error.
  LaneTeam(std::size_t lanes, const std::function<void(std::size_t lane)>& begin);
  ~LaneTeam();
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;
  LaneTeam(LaneTeam&&) = delete;
  LaneTeam& operator=(LaneTeam&&) = delete;

  /// Calls `work` once for each lane, all at the same time, and returns when all calls are done.
  /// `work` must not throw. Must be called from one thread at a time.
  void run(const std::function<void(std::size_t lane)>& work);

 private:
  void serve(std::size_t lane);
  void await_piece(std::uint64_t done) const;

  const std::function<void(std::size_t)>* work_ = nullptr;
  std::atomic<std::uint64_t> piece_{0};  // counts tasks; the last one ends the threads
  std::atomic<std::size_t> busy_{0};     // threads that have not finished the current task
  std::atomic<bool> leave_{false};
  std::vector<std::thread> threads_;
};

/// Waits until `ready` returns true. Spins first, and yields to other threads after a while.
void spin_until(const std::function<bool()>& ready);

}  // namespace plumb::engine
