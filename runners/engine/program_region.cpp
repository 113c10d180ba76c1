// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/program_region.hpp"

#include <utility>

#include "harness/base/error.hpp"

namespace plumb {

void HotRegion::run(std::size_t repetitions) {
  for (std::size_t i = 0; i < repetitions; ++i) {
    program_.enqueue(0);
  }
  program_.synchronize();
}

RotatingRegion::RotatingRegion(Program& program,
                               std::vector<std::size_t> slots,
                               CacheFlush* flush,
                               bool warm)
    : program_(program), slots_(std::move(slots)), flush_(flush), warm_(warm) {
  PLUMB_CHECK(!slots_.empty());
}

void RotatingRegion::before_sample() {
  if (next_ == 0 && flush_ != nullptr) {
    flush_->run();
    if (warm_) {
      program_.enqueue(0);
      program_.synchronize();
    }
  }
  if (warm_) {
    program_.hand_on_activations(slots_[next_]);
  }
}

void RotatingRegion::run(std::size_t repetitions) {
  for (std::size_t i = 0; i < repetitions; ++i) {
    program_.enqueue(slots_[next_]);
    next_ = next_ + 1 == slots_.size() ? 0 : next_ + 1;
  }
  program_.synchronize();
}

}  // namespace plumb
