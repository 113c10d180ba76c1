// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/gpu_profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/session/host/user_paths.hpp"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kLargestFile = std::uintmax_t{64} << 10;
constexpr std::int64_t kLargestNumber = std::int64_t{1} << 50;
constexpr std::array<std::string_view, 20> kNumbers{"deviceVer",
                                                    "multiProcessorCount",
                                                    "warpSize",
                                                    "maxSharedMemoryPerBlock",
                                                    "maxSharedMemoryPerBlockOptin",
                                                    "reservedSharedMemoryPerBlock",
                                                    "maxRegistersPerSM",
                                                    "maxCtasPerSM",
                                                    "maxThreadsPerBlock",
                                                    "maxThreadsPerSM",
                                                    "regsPerBlock",
                                                    "totalGlobalMem",
                                                    "smClockRateKHz",
                                                    "l2CacheSize",
                                                    "memClockRateKHz",
                                                    "supportCoopLaunch",
                                                    "pciDeviceId",
                                                    "isTccDriver",
                                                    "cudaDeviceId",
                                                    "driverVer"};
constexpr std::array<std::string_view, 2> kTriples{"maxBlockSize", "maxGridSize"};
constexpr std::string_view kName = "deviceName";
constexpr std::string_view kBusWidth = "memoryBusWidth";  // only cuDNN from 9.27 on asks for it

fs::path profile_folder() {
  return executable_folder().parent_path() / "share/plumb/suites/gpus";
}

fs::path find_profile(const std::string& name) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) {
    return name;
  }
  std::vector<std::string> known;
  for (fs::directory_iterator entry(profile_folder(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") {
      known.push_back(entry->path().stem().string());
    }
  }
  std::sort(known.begin(), known.end());
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("there is no GPU profile '{}': give the path of a JSON file, or one of {}",
                    name,
                    fmt::join(known, ", ")));
  }
  return profile_folder() / (name + ".json");
}

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw Error(Error::Kind::kUser, fmt::format("GPU profile '{}': {}", file.string(), what));
}

Json read(const fs::path& file) {
  std::error_code error;
  if (fs::file_size(file, error) > kLargestFile || error) {
    fail(file, error ? error.message() : "it is larger than 64 KiB");
  }
  std::ifstream in(file, std::ios::binary);
  Json document = Json::parse(in, nullptr, false);
  if (!document.is_object()) {
    fail(file, "it is not a JSON object");
  }
  const auto inner = document.find("properties");
  return inner != document.end() && inner->is_object() ? Json(*inner) : document;
}

bool is_count(const Json& value) {
  return value.is_number_integer() && value.get<double>() >= 0 &&
         value.get<double>() <= static_cast<double>(kLargestNumber);
}

const Json& property(const fs::path& file, const Json& properties, std::string_view name) {
  const auto found = properties.find(name);
  if (found == properties.end()) {
    fail(file,
         fmt::format("the property '{}' is missing: cuDNN needs every one; see "
                     "docs/guides/preview-an-upgrade.md",
                     name));
  }
  return *found;
}

}  // namespace

GpuProfile read_gpu_profile(const std::string& name) {
  const fs::path file = find_profile(name);
  const Json properties = read(file);
  Json taken = Json::object();
  const auto take_number = [&](std::string_view key) {
    const Json& value = property(file, properties, key);
    if (!is_count(value)) {
      fail(file, fmt::format("the property '{}' must be a whole number from 0 to 2^50", key));
    }
    taken[std::string(key)] = value;
  };
  std::for_each(kNumbers.begin(), kNumbers.end(), take_number);
  if (properties.contains(kBusWidth)) {
    take_number(kBusWidth);
  }
  for (const std::string_view key : kTriples) {
    const Json& value = property(file, properties, key);
    if (!value.is_array() || value.size() != 3 ||
        !std::all_of(value.begin(), value.end(), is_count)) {
      fail(file, fmt::format("the property '{}' must be a list of three whole numbers", key));
    }
    taken[std::string(key)] = value;
  }
  const Json& device = property(file, properties, kName);
  if (!device.is_string()) {
    fail(file, fmt::format("the property '{}' must be a text", kName));
  }
  taken[std::string(kName)] = device;
  return {device.get<std::string>(), taken.dump(), file.string()};
}

}  // namespace plumb::session
