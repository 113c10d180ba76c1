// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/program_region.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::engine {
namespace {

constexpr std::int64_t kMaxSlots = 1024;
constexpr std::array<std::size_t, 4> kSamples{31, 15, 11, 7};

struct Priced {
  Rotation rotation;
  Seconds cost{};
};

std::int64_t slots_in_memory(const RotationCosts& costs) {
  const std::int64_t size = std::max<std::int64_t>(costs.slot.value, 1);
  return std::clamp<std::int64_t>(costs.memory.value / size, 1, kMaxSlots);
}

std::optional<Priced> price_ring(const RotationCosts& costs, std::size_t samples) {
  const std::int64_t size = std::max<std::int64_t>(costs.slot.value, 1);
  const std::int64_t needed = std::max<std::int64_t>((2 * costs.cache.value + size - 1) / size, 1);
  if (needed > std::max<std::int64_t>(slots_in_memory(costs), 1)) {
    return std::nullopt;
  }
  const Seconds cost =
      costs.bind * static_cast<double>(needed - 1) + costs.execution * static_cast<double>(samples);
  return Priced{{static_cast<std::size_t>(needed), false, samples}, cost};
}

Priced price_flushes(const RotationCosts& costs, std::size_t samples) {
  // More slots cost more binding, but fewer passes; each pass costs a flush and a warming
  // execution.
  std::optional<Priced> best;
  const auto most = std::min(static_cast<std::size_t>(slots_in_memory(costs)), samples);
  for (std::size_t slots = 1; slots <= most; ++slots) {
    const std::size_t passes = (samples + slots - 1) / slots;
    const Seconds cost = costs.bind * static_cast<double>(slots) +
                         (costs.flush + costs.execution) * static_cast<double>(passes) +
                         costs.execution * static_cast<double>(samples);
    if (!best || cost < best->cost) {
      best = Priced{{slots, true, samples}, cost};
    }
  }
  return *best;
}

}  // namespace

Rotation plan_rotation(const RotationCosts& costs) {
  Priced cheapest;
  for (const std::size_t samples : kSamples) {
    cheapest = price_flushes(costs, samples);
    if (const auto ring = price_ring(costs, samples); ring && ring->cost <= cheapest.cost) {
      cheapest = *ring;
    }
    if (cheapest.cost <= costs.wall) {
      break;
    }
  }
  return cheapest.rotation;
}

Seconds CacheFlush::cost() {
  if (cost_ == Seconds(0.0)) {
    run();
    const auto begin = std::chrono::steady_clock::now();
    run();
    cost_ = std::chrono::steady_clock::now() - begin;
  }
  return cost_;
}

void CacheFlush::run() {
  if (sweep_) {
    sweep_(cache_ * 2);
    return;
  }
  constexpr std::size_t kLine = 64 / sizeof(std::uint64_t);
  if (memory_.empty()) {
    memory_.assign(static_cast<std::size_t>(2 * cache_.value) / sizeof(std::uint64_t) + 1, 1);
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < memory_.size(); i += kLine) {
    sum += memory_[i];
  }
  sum_ += sum;  // a member, so that the loop has an effect
}

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
