// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/host.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/session/host/build_facts.hpp"
#include "harness/worker/protocol/stack.hpp"

namespace plumb::session {
namespace {

std::string variable(const char* name) {
  return environment_variable(name).value_or("");
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<std::filesystem::path> known_data_folder() {
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) {
    return std::filesystem::path(data) / "plumb";
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".local/share/plumb";
  }
  return std::nullopt;
}

std::filesystem::path data_folder() {
  if (std::optional<std::filesystem::path> folder = known_data_folder()) {
    return *std::move(folder);
  }
  throw Error(Error::Kind::kEnvironment,
              "neither XDG_DATA_HOME nor HOME is set, so there is no place for the store: "
              "set one of them, or name a store with --store sqlite:PATH");
}

std::optional<std::filesystem::path> spool_folder() {
  const std::optional<std::filesystem::path> folder = known_data_folder();
  return folder ? std::optional(*folder / "spool") : std::nullopt;
}

std::filesystem::path cache_folder() {
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
    return std::filesystem::path(cache) / "plumb";
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".cache/plumb";
  }
  throw Error(Error::Kind::kEnvironment,
              "neither XDG_CACHE_HOME nor HOME is set, so there is no place for builds: set one of "
              "them");
}

std::string default_store_url() {
  const std::string url = variable("PLUMB_STORE");
  return url.empty() ? "sqlite:" + (data_folder() / "store.db").string() : url;
}

std::string user_name() {
  const passwd* const user = ::getpwuid(::geteuid());
  return user == nullptr ? "uid " + std::to_string(::geteuid()) : std::string(user->pw_name);
}

std::filesystem::path executable_folder() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::current_path() : path.parent_path();
}

std::filesystem::path find_suite(const std::string& name) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places{name};
  if (!name.ends_with(".toml")) {
    if (const std::optional<fs::path> data = known_data_folder()) {
      places.push_back(*data / "suites" / (name + ".toml"));
    }
    places.push_back(executable_folder().parent_path() / "share/plumb/suites" / (name + ".toml"));
  }
  std::vector<std::string> looked;
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) {
      return place;
    }
    looked.push_back(fmt::format("'{}'", place.string()));
  }
  throw Error(Error::Kind::kUser,
              fmt::format("there is no suite '{}'; looked for {}; give the path of a .toml file, "
                          "such as suites/quick.toml",
                          name,
                          fmt::join(looked, ", ")));
}

RawFolder::RawFolder(const std::string& named) : kept_(!named.empty()) {
  if (kept_) {
    path_ = std::filesystem::absolute(named);
    std::error_code fault;
    std::filesystem::create_directories(path_, fault);
    if (fault) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("cannot make the folder '{}': {}", named, fault.message()));
    }
    return;
  }
  std::string name = (std::filesystem::temp_directory_path() / "plumb-trace-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot make a folder like '{}': check its permissions", name));
  }
  path_ = name;
}

RawFolder::~RawFolder() {
  if (!kept_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

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

worker::WorkerProcess::Options worker_options(const WorkerChoice& choice) {
  worker::WorkerProcess::Options options;
  const bool by_name = choice.stack != "default" && !worker::names_folder(choice.stack);
  const std::optional<std::filesystem::path> data = by_name ? data_folder() : known_data_folder();
  options.stack = worker::load_stack(choice.stack, data.value_or("") / "stacks");
  options.setup.threads = choice.threads;
  options.setup.device = choice.device;
  if (data) {
    // Each stack has a cache of its own: one version must not find what another has compiled.
    options.stack.variables.try_emplace(
        "CUDA_CACHE_PATH", (*data / "kernels" / worker::file_name_of(options.stack.name)).string());
  }
  options.search_path = {executable_folder().parent_path() / "libexec/plumb"};
  return options;
}

namespace {

constexpr const char* kUnknown = "unknown";

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  return file && std::getline(file, line) && !line.empty() ? line : kUnknown;
}

/// Returns the first value of a "name : value" line of /proc/cpuinfo or /proc/meminfo.
std::string read_field(const std::filesystem::path& path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, name.size(), name) != 0) {
      continue;
    }
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? kUnknown : line.substr(start);
  }
  return kUnknown;
}

int count_lines_with(const std::filesystem::path& path, const std::string& prefix) {
  std::ifstream file(path);
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    count += line.compare(0, prefix.size(), prefix) == 0 ? 1 : 0;
  }
  return count;
}

/// Returns the memory, rounded up to GiB. So a kernel that reserves a little more is not another
/// machine.
std::string memory_in_gib(const std::filesystem::path& meminfo) {
  const double kibibytes = std::atof(read_field(meminfo, "MemTotal").c_str());
  return kibibytes > 0 ? fmt::format("{:.0f} GiB", std::ceil(kibibytes / (1024.0 * 1024.0)))
                       : kUnknown;
}

/// Returns the CPU's model name with its family, model and stepping. These distinguish CPU models
/// with one marketing name ("Intel(R) Xeon(R) Processor" of a cloud).
std::string cpu_model(const std::filesystem::path& cpuinfo) {
  return fmt::format("{}, family {}, model {}, stepping {}",
                     read_field(cpuinfo, "model name"),
                     read_field(cpuinfo, "cpu family"),
                     read_field(cpuinfo, "model\t"),
                     read_field(cpuinfo, "stepping"));
}

std::string virtualisation(const std::filesystem::path& root,
                           const std::filesystem::path& cpuinfo) {
  const std::string product = first_line(root / "sys/class/dmi/id/product_name");
  const bool hypervisor = read_field(cpuinfo, "flags").find("hypervisor") != std::string::npos;
  return hypervisor ? fmt::format("virtual ({})", product) : "none";
}

}  // namespace

results::Environment read_system(const std::filesystem::path& root) {
  const std::filesystem::path cpuinfo = root / "proc/cpuinfo";
  const std::filesystem::path cpu0 = root / "sys/devices/system/cpu/cpu0";
  results::Environment system;
  system.identity["cpu.model"] = cpu_model(cpuinfo);
  system.identity["cpu.count"] = std::to_string(count_lines_with(cpuinfo, "processor"));
  system.identity["memory"] = memory_in_gib(root / "proc/meminfo");
  system.identity["virtualisation"] = virtualisation(root, cpuinfo);

  utsname names{};
  if (uname(&names) == 0) {
    system.facts["kernel"] = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  system.facts["boot.id"] = first_line(root / "proc/sys/kernel/random/boot_id");
  system.facts["microcode"] = read_field(cpuinfo, "microcode");
  system.facts["governor"] = first_line(cpu0 / "cpufreq/scaling_governor");
  system.facts["frequency.min_khz"] = first_line(cpu0 / "cpufreq/cpuinfo_min_freq");
  system.facts["frequency.max_khz"] = first_line(cpu0 / "cpufreq/cpuinfo_max_freq");
  system.facts["frequency.mhz_now"] = read_field(cpuinfo, "cpu MHz");
  system.facts["smt"] = first_line(root / "sys/devices/system/cpu/smt/active");
  system.facts["cache.l1d"] = first_line(cpu0 / "cache/index0/size");
  system.facts["cache.l2"] = first_line(cpu0 / "cache/index2/size");
  system.facts["cache.l3"] = first_line(cpu0 / "cache/index3/size");
  system.facts["huge_pages"] = first_line(root / "sys/kernel/mm/transparent_hugepage/enabled");
  system.facts["load"] = first_line(root / "proc/loadavg");
  system.facts["plumb.version"] = kPlumbVersion;
  system.facts["plumb.commit"] = kPlumbCommit;
  system.facts["plumb.compiler"] = kPlumbCompiler;
  system.facts["plumb.build_type"] = kPlumbBuildType;
  return system;
}

std::string host_name() {
  utsname names{};
  return uname(&names) == 0 && names.nodename[0] != '\0' ? names.nodename : kUnknown;
}

std::string measuring_host(const results::Environment& environment) {
  const auto gpu = environment.identity.find("gpu.uuid");
  return gpu == environment.identity.end() ? host_name() : host_name() + " " + gpu->second;
}

results::Environment join_environment(const results::Environment& system,
                                      const results::Environment& worker,
                                      int threads,
                                      const std::string& stack) {
  results::Environment joined = system;
  for (const auto& [name, value] : worker.identity) {
    joined.identity[name] = value;
  }
  for (const auto& [name, value] : worker.facts) {
    joined.facts[name] = value;
  }
  joined.identity["threads"] = std::to_string(threads);
  joined.identity["method"] = measure::kMethodVersion;
  joined.facts["stack.name"] = stack;
  return joined;
}

}  // namespace plumb::session
