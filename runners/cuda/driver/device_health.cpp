// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device_health.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/cuda/driver/driver_abi.hpp"

namespace plumb::cuda {
namespace {

struct Reason {
  std::uint64_t bit = 0;
  std::string_view name;
  bool disturbs = false;
};

constexpr std::array kReasons{
    Reason{abi::kReasonApplicationClocks, "application_clocks", false},
    Reason{abi::kReasonSoftwarePowerCap, "software_power_cap", false},
    Reason{abi::kReasonHardwareSlowdown, "hardware_slowdown", true},
    Reason{abi::kReasonSyncBoost, "sync_boost", false},
    Reason{abi::kReasonSoftwareThermal, "software_thermal", true},
    Reason{abi::kReasonHardwareThermal, "hardware_thermal", true},
    Reason{abi::kReasonPowerBrake, "power_brake", true},
};

constexpr double kMostMoved = 0.03;  // of the clock within a block: more is another speed

std::vector<double> known_values(std::span<const ManagedDevice::Sample> samples,
                                 std::optional<double> ManagedDevice::Sample::*member) {
  std::vector<double> values;
  for (const ManagedDevice::Sample& sample : samples) {
    if (sample.*member) {
      values.push_back(*(sample.*member));
    }
  }
  return values;
}

void add_reading(engine::BlockMonitor::Block& block,
                 const char* name,
                 std::span<const double> values) {
  if (const std::optional<results::Reading> reading = results::summarize_reading(values)) {
    block.readings[name] = *reading;
  }
}

/// Judges the clock by its lowest and highest sample: a reading's ends are an interval.
void judge_clock(engine::BlockMonitor::Block& block, std::span<const double> hertz) {
  const std::optional<results::Reading> clock = results::summarize_reading(hertz);
  if (!clock || clock->n < 2 || clock->median <= 0.0) {
    return;
  }
  const auto [lowest, highest] = std::minmax_element(hertz.begin(), hertz.end());
  const double moved = (*highest - *lowest) / clock->median;
  block.readings["sm_clock_moved_ratio"] = {moved, moved, moved, clock->n};
  block.disturbed = block.disturbed || moved > kMostMoved;
}

void add_reasons(engine::BlockMonitor::Block& block,
                 std::span<const ManagedDevice::Sample> samples) {
  const auto known = std::count_if(
      samples.begin(), samples.end(), [](const ManagedDevice::Sample& one) { return one.reasons; });
  if (known == 0) {
    return;
  }
  const auto share_of = [&](std::uint64_t bits) {
    const auto held =
        std::count_if(samples.begin(), samples.end(), [&](const ManagedDevice::Sample& sample) {
          return (sample.reasons.value_or(0) & bits) != 0;
        });
    const double share = static_cast<double>(held) / static_cast<double>(known);
    return results::Reading{share, share, share, static_cast<std::int64_t>(known)};
  };
  std::uint64_t disturbing = 0;
  for (const Reason& reason : kReasons) {
    disturbing |= reason.disturbs ? reason.bit : 0;
    if (const results::Reading share = share_of(reason.bit); share.median > 0.0) {
      block.readings[fmt::format("throttled.{}_ratio", reason.name)] = share;
    }
  }
  // Zero too is said, so that "not throttled" and "not known" are apart.
  const results::Reading throttled = share_of(disturbing);
  block.readings["throttled_ratio"] = throttled;
  block.disturbed = block.disturbed || throttled.median > 0.0;
}

}  // namespace

bool is_program_error(std::uint64_t xid) {
  // From NVIDIA's Xid catalogue. They are a graphics engine exception, a memory page fault, the
  // reset of a channel, preemptive cleanup after earlier errors, and two video exceptions.
  constexpr std::array<std::uint64_t, 6> kOfPrograms{13, 31, 43, 45, 68, 69};
  return std::find(kOfPrograms.begin(), kOfPrograms.end(), xid) != kOfPrograms.end();
}

engine::BlockMonitor::Block judged_block(std::span<const ManagedDevice::Sample> samples,
                                         const ManagedDevice::Errors& before,
                                         const ManagedDevice::Errors& after) {
  engine::BlockMonitor::Block block;
  const std::vector<double> hertz = known_values(samples, &ManagedDevice::Sample::sm_clock_hertz);
  add_reading(block, "sm_clock_hertz", hertz);
  judge_clock(block, hertz);
  add_reading(block,
              "memory_clock_hertz",
              known_values(samples, &ManagedDevice::Sample::memory_clock_hertz));
  add_reading(block, "power_watts", known_values(samples, &ManagedDevice::Sample::power_watts));
  add_reading(block,
              "temperature_celsius",
              known_values(samples, &ManagedDevice::Sample::temperature_celsius));
  add_reasons(block, samples);
  if (before.uncorrected && after.uncorrected && *after.uncorrected > *before.uncorrected) {
    block.fault = fmt::format("uncorrected errors of the GPU's memory: {}",
                              *after.uncorrected - *before.uncorrected);
  }
  for (const std::uint64_t xid : after.xids) {
    if (!is_program_error(xid)) {
      block.fault +=
          fmt::format("{}the driver reported Xid {}", block.fault.empty() ? "" : "; ", xid);
    }
  }
  return block;
}

std::optional<results::Reading> energy_per_execution(
    std::span<const ManagedDevice::EnergyMark> marks) {
  std::vector<double> joules;
  std::optional<ManagedDevice::EnergyMark> moved;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    // The counter is exact only when it moves: in between it shows an old value.
    if (marks[i].millijoules <= marks[i - 1].millijoules) {
      continue;
    }
    if (moved && marks[i].executions > moved->executions) {
      joules.push_back(static_cast<double>(marks[i].millijoules - moved->millijoules) * 1e-3 /
                       static_cast<double>(marks[i].executions - moved->executions));
    }
    moved = marks[i];
  }
  return results::summarize_reading(joules);
}

namespace {

constexpr std::array<const char*, 1> kNames{"libnvidia-ml.so.1"};
constexpr int kMaxEvents = 64;  // in one reading; more wait for the next

/// Returns one number. Absent: the library is too old for it, or the GPU does not report it.
template <typename Number, typename Call, typename... Arguments>
std::optional<Number> asked(Call call, Arguments... arguments) {
  Number value = 0;
  if (call == nullptr || call(arguments..., &value) != 0) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> scaled(std::optional<unsigned> value, double factor) {
  return value ? std::optional(factor * *value) : std::nullopt;
}

/// Counts the other processes that compute on the GPU. Absent: the library does not say.
std::optional<std::size_t> other_processes(const abi::ManagementCalls& calls,
                                           abi::ManagedHandle device) {
  if (calls.processes == nullptr) {
    return std::nullopt;
  }
  unsigned count = 0;
  const int status = calls.processes(device, &count, nullptr);
  if (status == 0 && count == 0) {
    return 0;
  }
  std::vector<abi::ManagementCalls::Process> list(std::size_t{count} +
                                                  16);  // more may have started since
  count = static_cast<unsigned>(list.size());
  if ((status != 0 && status != abi::kManagementInsufficientSize) ||
      calls.processes(device, &count, list.data()) != 0) {
    return std::nullopt;
  }
  const auto end = list.begin() + std::min<std::ptrdiff_t>(count, std::ssize(list));
  return std::count_if(list.begin(), end, [me = static_cast<unsigned>(getpid())](const auto& one) {
    return one.pid != me;
  });
}

[[noreturn]] void fail(const std::string& text) {
  throw Error(Error::Kind::kEnvironment, text);
}

}  // namespace

ManagedDevice::ManagedDevice(const std::string& uuid)
    : library_(std::vector<std::string>(kNames.begin(), kNames.end()), "it comes with the driver") {
  abi::for_each_management_call(
      calls_, [this](auto& call, const char* name) { library_.find_if_there(call, name); });
  if (calls_.init == nullptr || calls_.shutdown == nullptr || calls_.by_uuid == nullptr) {
    fail("NVML is too old: take a newer driver");
  }
  if (const int status = calls_.init(); status != 0) {
    fail(fmt::format("NVML does not start ({})", status));
  }
  if (const int status = calls_.by_uuid(uuid.c_str(), &device_); status != 0) {
    static_cast<void>(calls_.shutdown());
    fail(fmt::format("NVML does not know {} ({})", uuid, status));
  }
  watch_events();
}

ManagedDevice::~ManagedDevice() {
  if (events_ != nullptr && calls_.event_set_free != nullptr) {
    static_cast<void>(calls_.event_set_free(events_));
  }
  static_cast<void>(calls_.shutdown());
}

void ManagedDevice::watch_events() {
  if (calls_.event_set_create == nullptr || calls_.register_events == nullptr ||
      calls_.event_set_wait == nullptr || calls_.event_set_create(&events_) != 0) {
    events_ = nullptr;
    return;
  }
  if (calls_.register_events(device_, abi::kEventXid, events_) != 0 &&
      calls_.event_set_free != nullptr) {
    static_cast<void>(calls_.event_set_free(events_));
    events_ = nullptr;
  }
}

void ManagedDevice::describe(results::Environment& environment) const {
  results::Facts& facts = environment.facts;
  std::array<char, 96> version{};
  if (calls_.driver_version != nullptr &&
      calls_.driver_version(version.data(), version.size() - 1) == 0) {
    environment.identity["driver"] = version.data();
  }
  unsigned mode = 0;
  unsigned pending = 0;
  if (calls_.mig_mode != nullptr && calls_.mig_mode(device_, &mode, &pending) == 0) {
    environment.identity["gpu.mig"] = mode != 0 ? "on" : "off";
  }
  const auto hertz = [&](const char* name, auto call, abi::ManagementCalls::Clock clock) {
    if (const auto value = asked<unsigned>(call, device_, clock)) {
      facts[name] = fmt::format("{}", 1'000'000ULL * *value);
    }
  };
  hertz("gpu.clock_now_hertz", calls_.clock, abi::ManagementCalls::Clock::kSm);
  hertz("gpu.clock_max_hertz", calls_.max_clock, abi::ManagementCalls::Clock::kSm);
  hertz("gpu.memory_clock_now_hertz", calls_.clock, abi::ManagementCalls::Clock::kMemory);
  hertz("gpu.memory_clock_max_hertz", calls_.max_clock, abi::ManagementCalls::Clock::kMemory);
  if (const auto limit = asked<unsigned>(calls_.power_limit, device_)) {
    facts["gpu.power_limit_watts"] = fmt::format("{:.1f}", *limit / 1000.0);
  }
  if (const auto degrees = asked<unsigned>(calls_.temperature, device_, abi::kSensorGpu)) {
    facts["gpu.temperature_celsius"] = fmt::format("{}", *degrees);
  }
  if (const auto others = other_processes(calls_, device_)) {
    facts["gpu.other_processes"] = fmt::format("{}", *others);
  }
  facts["gpu.energy_counter"] = energy() ? "yes" : "no";
  facts["gpu.error_events"] = events_ != nullptr ? "watched" : "not watched";
}

ManagedDevice::Sample ManagedDevice::sample() const {
  ManagedDevice::Sample result;
  result.sm_clock_hertz =
      scaled(asked<unsigned>(calls_.clock, device_, abi::ManagementCalls::Clock::kSm), 1e6);
  result.memory_clock_hertz =
      scaled(asked<unsigned>(calls_.clock, device_, abi::ManagementCalls::Clock::kMemory), 1e6);
  result.power_watts = scaled(asked<unsigned>(calls_.power, device_), 1e-3);
  result.temperature_celsius =
      scaled(asked<unsigned>(calls_.temperature, device_, abi::kSensorGpu), 1.0);
  const auto call =
      calls_.event_reasons != nullptr ? calls_.event_reasons : calls_.throttle_reasons;
  result.reasons = asked<unsigned long long>(call, device_);
  return result;
}

ManagedDevice::Errors ManagedDevice::errors() {
  ManagedDevice::Errors result;
  result.uncorrected = asked<unsigned long long>(
      calls_.errors, device_, abi::kUncorrectedErrors, abi::kSinceDriverLoad);
  abi::ManagementCalls::Event event;
  for (int i = 0; events_ != nullptr && i < kMaxEvents; ++i) {
    if (calls_.event_set_wait(events_, &event, 0) != 0) {
      break;  // no event waits
    }
    if (event.device == device_ && event.type == abi::kEventXid) {
      result.xids.push_back(event.data);
    }
  }
  return result;
}

std::optional<std::uint64_t> ManagedDevice::energy() const {
  return asked<unsigned long long>(calls_.energy, device_);
}

void describe_management(const std::string& uuid, results::Environment& environment) {
  try {
    ManagedDevice(uuid).describe(environment);
    environment.facts["gpu.management"] = "NVML";
  } catch (const Error& error) {
    environment.facts["gpu.management"] = error.what();
  }
}

namespace {

constexpr std::size_t kMaxSamples = 100'000;  // a block of a quarter of an hour
constexpr std::size_t kMaxXids = 100;         // one is enough

}  // namespace

ManagedDevice::Monitor::Monitor(std::function<ManagedDevice::Sample()> sample,
                                std::function<ManagedDevice::Errors()> errors,
                                Seconds period)
    : sample_(std::move(sample)),
      errors_(std::move(errors)),
      period_(period),
      before_(errors_()),
      after_(before_),
      thread_([this] { work(); }) {}

ManagedDevice::Monitor::~Monitor() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ManagedDevice::Monitor::begin() {
  {
    const std::lock_guard lock(mutex_);
    samples_.clear();
    block_ += 1;
    measuring_ = true;
  }
  changed_.notify_all();
}

engine::BlockMonitor::Block ManagedDevice::Monitor::end() {
  const ManagedDevice::Errors now = errors_();
  after_.uncorrected = now.uncorrected;
  if (after_.xids.size() < kMaxXids) {
    after_.xids.insert(after_.xids.end(), now.xids.begin(), now.xids.end());
  }
  const ManagedDevice::Sample last = sample_();
  const std::lock_guard lock(mutex_);
  measuring_ = false;
  samples_.push_back(last);
  return judged_block(samples_, before_, after_);
}

void ManagedDevice::Monitor::work() {
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
      const ManagedDevice::Sample seen = sample_();
      lock.lock();
      if (measuring_ && block == block_ && samples_.size() < kMaxSamples) {
        samples_.push_back(seen);
      }
    }
  }
}

}  // namespace plumb::cuda
