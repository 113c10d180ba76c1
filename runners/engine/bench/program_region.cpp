// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/program_region.hpp"

#include <optional>
#include <span>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::engine {
namespace {

measure::OwnSample own(const worker::DeviceSample& sample) {
  return {sample.each, sample.at_most, sample.executions};
}

}  // namespace

measure::OwnSample HotRegion::own_sample() {
  const std::size_t slot = 0;
  return own(device_->sample(std::span(&slot, 1)));
}

void HotRegion::run(std::size_t repetitions) {
  for (std::size_t i = 0; i < repetitions; ++i) {
    program_.enqueue(0);
  }
  program_.synchronize();
}

RotatingRegion::RotatingRegion(worker::Program& program,
                               std::vector<std::size_t> slots,
                               CacheFlush* flush,
                               bool warm)
    : program_(program),
      device_(dynamic_cast<worker::DeviceClock*>(&program)),
      slots_(std::move(slots)),
      flush_(flush),
      warm_(warm) {
  PLUMB_CHECK(!slots_.empty());
}

void RotatingRegion::before_sample() {
  if (device_ != nullptr && flush_ != nullptr) {
    return;  // the sample itself makes its slot cold
  }
  if (next_ == 0 && flush_ != nullptr) {
    flush_->run();
    if (warm_) {
      program_.enqueue(0);
      program_.synchronize();
    }
  }
  if (warm_) {
    program_.refresh_activations(slots_[next_]);
  }
}

measure::OwnSample RotatingRegion::own_sample() {
  if (flush_ == nullptr) {
    return own(device_->sample(slots_));
  }
  const std::size_t slot = slots_[next_];
  next_ = next_ + 1 == slots_.size() ? 0 : next_ + 1;
  const auto shared = warm_ ? std::optional<std::size_t>(0) : std::nullopt;
  return own(device_->sample_cold(slot, Bytes{2 * flush_->cache().value}, shared));
}

void RotatingRegion::run(std::size_t repetitions) {
  for (std::size_t i = 0; i < repetitions; ++i) {
    program_.enqueue(slots_[next_]);
    next_ = next_ + 1 == slots_.size() ? 0 : next_ + 1;
  }
  program_.synchronize();
}

}  // namespace plumb::engine
