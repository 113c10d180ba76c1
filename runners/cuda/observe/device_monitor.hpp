// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/base/units.hpp"
#include "runners/cuda/driver/management_library.hpp"

namespace plumb::cuda {

/// Monitor that samples a GPU's health beside each block. Its own thread sleeps between blocks.
class DeviceMonitor final : public engine::BlockMonitor {
 public:
  /// Starts the thread, which calls `sample` every `period` during a block. end() calls `sample`
  /// once more. `errors` is called now and at the end of each block. So what happens between two
  /// blocks is found at the next, and a fault stays one for all blocks to come.
  DeviceMonitor(std::function<HealthSample()> sample,
                std::function<HealthErrors()> errors,
                Seconds period);
  ~DeviceMonitor() override;
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;
  DeviceMonitor(DeviceMonitor&&) = delete;
  DeviceMonitor& operator=(DeviceMonitor&&) = delete;

  void begin() override;
  [[nodiscard]] engine::MonitoredBlock end() override;

 private:
  void work();

  std::function<HealthSample()> sample_;
  std::function<HealthErrors()> errors_;
  Seconds period_;
  HealthErrors before_;  ///< when this began
  HealthErrors after_;   ///< all Xids since
  std::mutex mutex_;     ///< guards what follows
  std::condition_variable changed_;
  std::vector<HealthSample> samples_;
  std::uint64_t block_ = 0;  ///< counts blocks: a sample that comes late belongs to none
  bool measuring_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace plumb::cuda
