// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/run.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/driver/driver_abi.hpp"
#include "runners/engine/bench/layer_timing.hpp"

namespace plumb::cuda {

/// Returns whether a program alone can cause an Xid, for example by an illegal address. Such an
/// error costs a row, not the run.
[[nodiscard]] bool is_program_error(std::uint64_t xid);

/// GPU as seen by NVIDIA's management library (NVML). Values that the library or this GPU does not
/// report are absent. sample(), errors() and energy() may be called from one thread each.
class ManagedDevice {
 public:
  /// Clocks, power, temperature and throttle reasons of a GPU at one moment, from the management
  /// library. Absent: the library does not report it.
  struct Sample {
    std::optional<double> sm_clock_hertz;
    std::optional<double> memory_clock_hertz;
    std::optional<double> power_watts;
    std::optional<double> temperature_celsius;
    std::optional<std::uint64_t> reasons;  ///< bits: why the clocks are below their highest
  };

  /// Errors of a GPU up to one moment.
  struct Errors {
    std::optional<std::uint64_t> uncorrected;  ///< of its memory, since the driver was loaded
    std::vector<std::uint64_t> xids;           ///< that the driver reported since the last reading
  };

  /// Reading of the energy counter after a number of executions.
  struct EnergyMark {
    std::uint64_t executions = 0;
    std::uint64_t millijoules = 0;
  };

  /// Monitor that samples a GPU's health beside each block. Its own thread sleeps between blocks.
  class Monitor final : public engine::BlockMonitor {
   public:
    /// Starts the thread, which calls `sample` every `period` during a block. end() calls `sample`
    /// once more. `errors` is called now and at the end of each block. So what happens between two
    /// blocks is found at the next, and a fault stays one for all blocks to come.
    Monitor(std::function<Sample()> sample, std::function<Errors()> errors, Seconds period);
    ~Monitor() override;
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;
    Monitor(Monitor&&) = delete;
    Monitor& operator=(Monitor&&) = delete;

    void begin() override;
    [[nodiscard]] engine::BlockMonitor::Block end() override;

   private:
    void work();

    std::function<Sample()> sample_;
    std::function<Errors()> errors_;
    Seconds period_;
    Errors before_;     ///< when this began
    Errors after_;      ///< all Xids since
    std::mutex mutex_;  ///< guards what follows
    std::condition_variable changed_;
    std::vector<Sample> samples_;
    std::uint64_t block_ = 0;  ///< counts blocks: a sample that comes late belongs to none
    bool measuring_ = false;
    bool ending_ = false;
    std::thread thread_;
  };

  /// Loads the library and finds the GPU. Throws Error{kEnvironment} that says why there is none:
  /// no library, or it does not know the GPU.
  explicit ManagedDevice(const std::string& uuid);
  ~ManagedDevice();
  ManagedDevice(const ManagedDevice&) = delete;
  ManagedDevice& operator=(const ManagedDevice&) = delete;
  ManagedDevice(ManagedDevice&&) = delete;
  ManagedDevice& operator=(ManagedDevice&&) = delete;

  /// Adds the driver's version and MIG's state to the identity. Adds clocks, the power limit and,
  /// as "gpu.other_processes", how many other processes compute on it to the facts.
  void describe(results::Environment& environment) const;

  [[nodiscard]] Sample sample() const;
  /// Returns the errors so far. Its Xids are those since the call before, or since construction.
  [[nodiscard]] Errors errors();
  /// Reads the energy counter, in millijoules since the driver was loaded.
  [[nodiscard]] std::optional<std::uint64_t> energy() const;

 private:
  void watch_events();

  DynamicLibrary library_;
  abi::ManagementCalls calls_;
  abi::ManagedHandle device_ = nullptr;
  abi::EventSet events_ = nullptr;
};

/// Summarises what was sampled beside a block, and judges the block. It is disturbed if the
/// hardware, heat or the power brake slowed it down, or if the SMs' clock moved by more than 3%
/// (highest less lowest, against the median: "sm_clock_moved_ratio"). A power cap by software is
/// only reported, because large products always meet it. An uncorrected memory error, or an Xid
/// that no program causes, is a fault. Pure.
[[nodiscard]] engine::BlockMonitor::Block judged_block(
    std::span<const ManagedDevice::Sample> samples,
    const ManagedDevice::Errors& before,
    const ManagedDevice::Errors& after);

/// Returns the joules of one execution, from marks taken while the device executed without a pause.
/// Each two consecutive moves of the counter give one value, since it moves in steps of some
/// milliseconds. Absent: it moved less than twice. Pure.
[[nodiscard]] std::optional<results::Reading> energy_per_execution(
    std::span<const ManagedDevice::EnergyMark> marks);

/// Describes a GPU as ManagedDevice does. If that fails, the fact "gpu.management" says why. Throws
/// nothing.
void describe_management(const std::string& uuid, results::Environment& environment);

}  // namespace plumb::cuda
