// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/host_pace.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace plumb {
namespace {

constexpr std::size_t kLanes = 40;                // in flight: no chain of them is waited for
constexpr std::size_t kMultiplications = 10'000;  // of each
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kWalked = std::size_t{128} << 10;  // floats: 512 KiB
constexpr std::size_t kLine = 16;                        // floats in a cache line
constexpr int kWalks = 2;
constexpr int kTries = 4;

}  // namespace

void HostPace::Free::operator()(float* memory) const {
  std::free(memory);
}

HostPace::HostPace(Clock clock)
    : clock_(std::move(clock)),
      lanes_(kLanes, 1.0F),
      walked_(static_cast<float*>(std::aligned_alloc(kHugePage, kHugePage))) {
  if (!walked_) {
    throw std::bad_alloc();
  }
  static_cast<void>(madvise(walked_.get(), kHugePage, MADV_HUGEPAGE));
  std::fill_n(walked_.get(), kHugePage / sizeof(float), 1.0F);
}

Seconds HostPace::measure() {
  Seconds fastest{};
  std::array<float, kLanes> lanes{};
  std::copy(lanes_.begin(), lanes_.end(), lanes.begin());
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const Seconds begin = clock_();
    for (std::size_t i = 0; i < kMultiplications; ++i) {
      for (float& lane : lanes) {
        lane = lane * 0.999F + 0.001F;
      }
    }
    std::array<float, 4> sums{};
    for (int walk = 0; walk < kWalks; ++walk) {
      for (std::size_t i = 0; i < kWalked; i += sums.size() * kLine) {
        for (std::size_t k = 0; k < sums.size(); ++k) {
          sums.at(k) += walked_[i + k * kLine];
        }
      }
    }
    std::copy(lanes.begin(), lanes.end(), lanes_.begin());  // used: nothing can be left out
    lanes_.front() += 1e-9F * (sums[0] + sums[1] + sums[2] + sums[3]);
    const Seconds taken = clock_() - begin;
    fastest = attempt == 0 ? taken : std::min(fastest, taken);
  }
  return fastest;
}

HostPaceSource host_pace_source() {
  return [pace = std::make_shared<HostPace>(steady_clock())] { return pace->measure(); };
}

}  // namespace plumb
