// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/device_monitor.hpp"

#include <utility>

namespace plumb::cuda {
namespace {

constexpr std::size_t kMaxSamples = 100'000;  // a block of a quarter of an hour
constexpr std::size_t kMaxXids = 100;         // one is enough

}  // namespace

DeviceMonitor::DeviceMonitor(std::function<HealthSample()> sample,
                             std::function<HealthErrors()> errors,
                             Seconds period)
    : sample_(std::move(sample)),
      errors_(std::move(errors)),
      period_(period),
      before_(errors_()),
      after_(before_),
      thread_([this] { work(); }) {}

DeviceMonitor::~DeviceMonitor() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DeviceMonitor::begin() {
  {
    const std::lock_guard lock(mutex_);
    samples_.clear();
    block_ += 1;
    measuring_ = true;
  }
  changed_.notify_all();
}

engine::MonitoredBlock DeviceMonitor::end() {
  const HealthErrors now = errors_();
  after_.uncorrected = now.uncorrected;
  if (after_.xids.size() < kMaxXids) {
    after_.xids.insert(after_.xids.end(), now.xids.begin(), now.xids.end());
  }
  const HealthSample last = sample_();
  const std::lock_guard lock(mutex_);
  measuring_ = false;
  samples_.push_back(last);
  return judged_block(samples_, before_, after_);
}

void DeviceMonitor::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!measuring_) {
      changed_.wait(lock);
      continue;
    }
    // The clocks have just left idleness, so the first sample is taken after a period.
    if (changed_.wait_for(lock, period_) == std::cv_status::timeout && measuring_) {
      const std::uint64_t block = block_;
      lock.unlock();
      const HealthSample seen = sample_();
      lock.lock();
      if (measuring_ && block == block_ && samples_.size() < kMaxSamples) {
        samples_.push_back(seen);
      }
    }
  }
}

}  // namespace plumb::cuda
