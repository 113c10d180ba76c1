// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/lane_team.hpp"

namespace plumb::engine {
namespace {

constexpr int kSpins = 20'000;  // tens of microseconds

}  // namespace

void spin_until(const std::function<bool()>& ready) {
  for (int spins = 0; !ready(); ++spins) {
    if (spins > kSpins) {
      std::this_thread::yield();
    }
  }
}

LaneTeam::LaneTeam(std::size_t lanes, const std::function<void(std::size_t)>& begin) {
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    threads_.emplace_back([this, lane, begin] {
      begin(lane);
      serve(lane);
    });
  }
}

LaneTeam::~LaneTeam() {
  leave_ = true;
  ++piece_;
  piece_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void LaneTeam::run(const std::function<void(std::size_t)>& work) {
  work_ = &work;
  busy_ = threads_.size();
  ++piece_;
  piece_.notify_all();
  work(0);
  spin_until([this] { return busy_ == 0; });
}

void LaneTeam::await_piece(std::uint64_t done) const {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (piece_ != done) {
      return;
    }
  }
  piece_.wait(done);
}

void LaneTeam::serve(std::size_t lane) {
  for (std::uint64_t done = 0;; ++done) {
    await_piece(done);
    if (leave_) {
      return;
    }
    (*work_)(lane);
    --busy_;
  }
}

}  // namespace plumb::engine
