// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/system_facts.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "harness/measure/sampler.hpp"
#include "harness/session/host/build_facts.hpp"

namespace plumb::session {
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
