// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdlib>

#include "runners/cuda/driver/management_library.hpp"

namespace plumb::cuda {
namespace {

abi::Device first_device(const Driver& driver) {
  abi::Device device = 0;
  driver.check(driver.calls().device_get(&device, 0), "the first GPU");
  return device;
}

std::string read_name(const Driver& driver, abi::Device device) {
  std::array<char, 256> text{};
  driver.check(driver.calls().device_get_name(text.data(), text.size() - 1, device),
               "the GPU's name");
  return text.data();
}

std::string read_uuid(const Driver& driver, abi::Device device) {
  abi::Uuid uuid{};
  driver.check(driver.calls().device_get_uuid(&uuid, device), "the GPU's identifier");
  return uuid_text(uuid);
}

}  // namespace

std::string uuid_text(const abi::Uuid& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    text += i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    text += fmt::format("{:02x}", uuid.at(i));
  }
  return text;
}

Device::Device(const Driver& driver)
    : driver_(driver),
      device_(first_device(driver)),
      name_(read_name(driver, device_)),
      uuid_(read_uuid(driver, device_)),
      architecture_(attribute(abi::DeviceAttribute::kComputeMajor) * 10 +
                    attribute(abi::DeviceAttribute::kComputeMinor)) {}

int Device::attribute(abi::DeviceAttribute name) const {
  int value = 0;
  driver_.check(driver_.calls().device_get_attribute(&value, name, device_), "a GPU's attribute");
  return value;
}

Bytes Device::l2_cache() const {
  return Bytes{attribute(abi::DeviceAttribute::kL2CacheSize)};
}

Bytes Device::memory() const {
  std::size_t bytes = 0;
  driver_.check(driver_.calls().device_total_mem(&bytes, device_), "the GPU's memory");
  return Bytes{static_cast<std::int64_t>(bytes)};
}

void Device::describe(results::Environment& environment) const {
  using Attribute = abi::DeviceAttribute;
  const auto fact = [&](const char* name, auto value) {
    environment.facts[name] = fmt::format("{}", value);
  };
  environment.identity["gpu"] = name_;
  environment.identity["gpu.memory"] = fmt::format("{}", memory().value);
  fact("gpu.uuid", uuid_);
  fact("gpu.architecture", fmt::format("sm_{}", architecture_));
  fact("gpu.multiprocessors", attribute(Attribute::kMultiprocessors));
  fact("gpu.clock_hertz", std::int64_t{1000} * attribute(Attribute::kClockRate));
  fact("gpu.memory_clock_hertz", std::int64_t{1000} * attribute(Attribute::kMemoryClockRate));
  fact("gpu.memory_bus_bits", attribute(Attribute::kMemoryBusWidth));
  fact("gpu.l2_cache_bytes", l2_cache().value);
  fact("gpu.ecc", attribute(Attribute::kEccEnabled) != 0 ? "on" : "off");
  fact("gpu.compute_mode", attribute(Attribute::kComputeMode));
  fact("gpu.bus",
       fmt::format("{:04x}:{:02x}:{:02x}",
                   attribute(Attribute::kPciDomain),
                   attribute(Attribute::kPciBus),
                   attribute(Attribute::kPciDevice)));
  fact("driver.cuda_version", driver_.version());
  fact("libcuda.path", driver_.path());
  for (const char* const name : {"CUDA_VISIBLE_DEVICES",
                                 "CUDA_MODULE_LOADING",
                                 "CUDA_LAUNCH_BLOCKING",
                                 "CUDA_DEVICE_MAX_CONNECTIONS"}) {
    if (const char* const value = std::getenv(name)) {
      fact(fmt::format("variable.{}", name).c_str(), value);
    }
  }
  describe_management(uuid_, environment);
}

}  // namespace plumb::cuda
