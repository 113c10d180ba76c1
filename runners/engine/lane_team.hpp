// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace plumb {

/// Team of threads that work together on one task after another. The caller is lane 0. Between two
/// tasks they spin for a short while, then sleep.
class LaneTeam {
 public:
  /// Starts `lanes` - 1 threads, each of which calls `begin` with its lane first. Throws
  /// std::system_error.
  LaneTeam(std::size_t lanes, const std::function<void(std::size_t lane)>& begin);
  ~LaneTeam();
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;
  LaneTeam(LaneTeam&&) = delete;
  LaneTeam& operator=(LaneTeam&&) = delete;

  /// Calls `work` once for each lane, at the same time; returns when all are done. `work` must not
  /// throw. From one thread at a time.
  void run(const std::function<void(std::size_t lane)>& work);

 private:
  void serve(std::size_t lane);
  void await_piece(std::uint64_t done) const;

  const std::function<void(std::size_t)>* work_ = nullptr;
  std::atomic<std::uint64_t> piece_{0};  // counts pieces; the last one says to leave
  std::atomic<std::size_t> busy_{0};     // threads that have not finished it
  std::atomic<bool> leave_{false};
  std::vector<std::thread> threads_;
};

/// Waits until `ready` says so: spins, and gives way to others after a while.
void spin_until(const std::function<bool()>& ready);

}  // namespace plumb
