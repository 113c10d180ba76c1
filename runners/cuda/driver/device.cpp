// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/cuda/driver/device_health.hpp"

namespace plumb::cuda {
namespace {

int count_devices(const Driver& driver) {
  int count = 0;
  driver.check(driver.calls().device_get_count(&count), "counting the GPUs");
  return count;
}

abi::Device device_at(const Driver& driver, int index) {
  abi::Device device = 0;
  driver.check(driver.calls().device_get(&device, index), "a GPU");
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

/// Throws the error for a choice that names no GPU, or several, with all GPUs that there are.
[[noreturn]] void refuse_choice(const Driver& driver,
                                const std::string& choice,
                                const char* fault) {
  std::string devices;
  for (int index = 0; index < count_devices(driver); ++index) {
    const abi::Device device = device_at(driver, index);
    devices += fmt::format("{}{} {} {}",
                           devices.empty() ? "" : ", ",
                           index,
                           read_uuid(driver, device),
                           read_name(driver, device));
  }
  throw Error(
      Error::Kind::kEnvironment,
      fmt::format("--device {}: {}; the driver shows: {} (CUDA_VISIBLE_DEVICES hides what it "
                  "does not name)",
                  choice,
                  fault,
                  devices));
}

/// Finds the number of the GPU that a choice names: by its number, or by the beginning of its
/// identifier. An empty choice names the first.
int find_device(const Driver& driver, const std::string& choice) {
  if (choice.empty()) {
    return 0;
  }
  const int count = count_devices(driver);
  int number = 0;
  const auto [end, error] = std::from_chars(choice.data(), choice.data() + choice.size(), number);
  if (error == std::errc() && end == choice.data() + choice.size()) {
    if (number < 0 || number >= count) {
      refuse_choice(driver, choice, "there is no such GPU");
    }
    return number;
  }
  std::optional<int> found;
  for (int index = 0; index < count; ++index) {
    if (read_uuid(driver, device_at(driver, index)).starts_with(choice)) {
      if (found) {
        refuse_choice(driver, choice, "several GPUs begin so");
      }
      found = index;
    }
  }
  if (!found) {
    refuse_choice(driver, choice, "there is no such GPU");
  }
  return *found;
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

Device::Device(const Driver& driver, const std::string& choice)
    : driver_(driver),
      index_(find_device(driver, choice)),
      device_(device_at(driver, index_)),
      name_(read_name(driver, device_)),
      uuid_(read_uuid(driver, device_)),
      architecture_(attribute(abi::DriverCalls::DeviceAttribute::kComputeMajor) * 10 +
                    attribute(abi::DriverCalls::DeviceAttribute::kComputeMinor)) {}

int Device::attribute(abi::DriverCalls::DeviceAttribute name) const {
  int value = 0;
  driver_.check(driver_.calls().device_get_attribute(&value, name, device_), "a GPU's attribute");
  return value;
}

Bytes Device::l2_cache() const {
  return Bytes{attribute(abi::DriverCalls::DeviceAttribute::kL2CacheSize)};
}

Bytes Device::memory() const {
  std::size_t bytes = 0;
  driver_.check(driver_.calls().device_total_mem(&bytes, device_), "the GPU's memory");
  return Bytes{static_cast<std::int64_t>(bytes)};
}

void Device::describe(results::Environment& environment) const {
  using Attribute = abi::DriverCalls::DeviceAttribute;
  const auto fact = [&](const char* name, auto value) {
    environment.facts[name] = fmt::format("{}", value);
  };
  environment.identity["gpu"] = name_;
  environment.identity["gpu.memory"] = fmt::format("{}", memory().value);
  environment.identity["gpu.uuid"] = uuid_;
  fact("gpu.index", index_);
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

namespace {

/// Returns the process that the file names. It is only a hint, for the message.
std::string holder(int file) {
  std::array<char, 32> text{};
  const ssize_t size = pread(file, text.data(), text.size() - 1, 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "unknown";
}

/// Opens a file that all users share, and makes it if it is absent. In a sticky folder, Linux may
/// refuse O_CREAT for what another user made, whatever its mode (fs.protected_regular), so the two
/// are tried apart.
FileDescriptor open_shared(const std::filesystem::path& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  int file = open(path.c_str(), kFlags);
  if (file < 0 && errno == ENOENT) {
    file = open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
  }
  if (file < 0 && errno == EEXIST) {
    file = open(path.c_str(), kFlags);  // another worker was quicker
  }
  return FileDescriptor(file);
}

}  // namespace

Device::Context::Lock::Lock(const std::string& uuid,
                            const std::filesystem::path& folder,
                            std::optional<int> harness) {
  const std::filesystem::path path = folder / fmt::format("plumb-{}.lock", uuid);
  file_ = open_shared(path);
  if (file_.number() < 0) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("cannot open the GPU's lock '{}' ({}): remove that file, or name another "
                    "folder with TMPDIR",
                    path.string(),
                    std::strerror(errno)));
  }
  // All users may open it, whatever the umask. Another user's file has this mode already.
  static_cast<void>(fchmod(file_.number(), 0666));
  const auto refuse = [&] {
    throw Error(Error::Kind::kTryAgain,
                fmt::format("the GPU {} is in use by another worker (process {}): two workers on "
                            "one GPU disturb each other; wait for it to end",
                            uuid,
                            holder(file_.number())));
  };
  const std::string me = std::to_string(harness.value_or(getpid()));
  if (flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
    // The other worker of a pair has its share, and has written whose it is.
    const bool shared = harness && flock(file_.number(), LOCK_SH | LOCK_NB) == 0;
    if (!shared || holder(file_.number()) != me) {
      refuse();
    }
    return;
  }
  if (ftruncate(file_.number(), 0) != 0 ||
      pwrite(file_.number(), me.data(), me.size(), 0) != static_cast<ssize_t>(me.size())) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot write the GPU's lock '{}' ({}): free some space",
                            path.string(),
                            std::strerror(errno)));
  }
  if (harness && flock(file_.number(), LOCK_SH | LOCK_NB) != 0) {
    refuse();
  }
}

Device::Context::Context(const Device& device, std::optional<int> harness)
    : device_(device), lock_(device.uuid(), std::filesystem::temp_directory_path(), harness) {
  driver().check(driver().calls().primary_context_retain(&context_, device.number()),
                 "the GPU's context");
  // The destructor does not run if this constructor throws, so the context is released here.
  try {
    use();
  } catch (...) {
    static_cast<void>(driver().calls().primary_context_release(device_.number()));
    throw;
  }
  driver().add_contexts(1);
}

Device::Context::~Context() {
  driver().add_contexts(-1);
  static_cast<void>(driver().calls().context_synchronize());
  static_cast<void>(driver().calls().primary_context_release(device_.number()));
}

void Device::Context::use() const {
  driver().check(driver().calls().context_set_current(context_), "making the context current");
}

Device::Context::Memory Device::Context::memory() const {
  Memory memory;
  driver().check(driver().calls().mem_get_info(&memory.free, &memory.total),
                 "the GPU's free memory");
  return memory;
}

Bytes Device::Context::free_memory() const {
  return Bytes{static_cast<std::int64_t>(memory().free)};
}

Bytes Device::Context::held_memory() const {
  const Memory now = memory();
  return Bytes{static_cast<std::int64_t>(now.total - std::min(now.free, now.total))};
}

Device::Memory::Memory(const Driver& driver, std::size_t bytes) : driver_(&driver), bytes_(bytes) {
  if (bytes > 0) {
    driver.check(driver.calls().mem_alloc(&address_, bytes), "taking memory of the GPU");
  }
}

Device::Memory::~Memory() {
  if (address_ != 0) {
    static_cast<void>(driver_->calls().mem_free(address_));
  }
}

Device::Memory::Memory(Device::Memory&& other) noexcept
    : driver_(other.driver_),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Device::Memory& Device::Memory::operator=(Device::Memory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void set_bytes(const Driver& driver,
               abi::DevicePointer to,
               unsigned char value,
               std::size_t bytes,
               abi::Stream stream) {
  if (bytes > 0) {
    driver.check(driver.calls().memset_bytes(to, value, bytes, stream), "setting the GPU's memory");
  }
}

void upload(const Driver& driver, abi::DevicePointer to, std::span<const std::byte> bytes) {
  if (!bytes.empty()) {
    driver.check(driver.calls().memcpy_to_device(to, bytes.data(), bytes.size()),
                 "a copy to the GPU");
    // From pageable memory the call returns once it has read the bytes. The copy itself is work of
    // the legacy stream, which streams of their own do not wait for.
    driver.check(driver.calls().stream_synchronize(nullptr), "the end of a copy to the GPU");
  }
}

void download(const Driver& driver, std::span<std::byte> bytes, abi::DevicePointer from) {
  if (!bytes.empty()) {
    driver.check(driver.calls().memcpy_to_host(bytes.data(), from, bytes.size()),
                 "a copy from the GPU");
  }
}

Device::Memory::Mirror::Mirror(const Driver& driver, abi::DevicePointer buffer, std::size_t bytes)
    : driver_(driver), buffer_(buffer) {
  void* memory = nullptr;
  driver.check(driver.calls().mem_alloc_host(&memory, bytes), "taking page-locked memory");
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

Device::Memory::Mirror::~Mirror() {
  if (!bytes_.empty()) {
    static_cast<void>(driver_.calls().mem_free_host(bytes_.data()));
  }
}

Device::Memory::Mirror::Mirror(Device::Memory::Mirror&& other) noexcept
    : driver_(other.driver_), buffer_(other.buffer_), bytes_(std::exchange(other.bytes_, {})) {}

void Device::Memory::Mirror::enqueue_upload(abi::Stream stream) const {
  driver_.check(
      driver_.calls().memcpy_to_device_async(buffer_, bytes_.data(), bytes_.size(), stream),
      "a copy to the GPU");
}

void Device::Memory::Mirror::enqueue_download(abi::Stream stream) const {
  driver_.check(driver_.calls().memcpy_to_host_async(bytes_.data(), buffer_, bytes_.size(), stream),
                "a copy from the GPU");
}

}  // namespace plumb::cuda
