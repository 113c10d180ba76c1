// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/session/host/host.hpp"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;

class SystemFacts : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("plumb_system_" + std::to_string(getpid()));
    fs::create_directories(root_ / "proc/sys/kernel/random");
    fs::create_directories(root_ / "sys/devices/system/cpu/cpu0/cpufreq");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST_F(SystemFacts, identifies_the_machine_by_what_does_not_change) {
  write(
      "proc/cpuinfo",
      "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Example CPU\nstepping\t: 8\n"
      "microcode\t: 0x1\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\nmodel name\t: Example CPU\n");
  write("proc/meminfo", "MemTotal:       16000000 kB\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  write("proc/sys/kernel/random/boot_id", "5f0c-77\n");
  const results::Environment system = read_system(root_);
  EXPECT_EQ(system.facts.at("boot.id"), "5f0c-77");
  EXPECT_EQ(system.identity.at("cpu.model"), "Example CPU, family 6, model 143, stepping 8");
  EXPECT_EQ(system.identity.at("cpu.count"), "2");
  EXPECT_EQ(system.identity.at("memory"), "16 GiB");
  EXPECT_EQ(system.identity.at("virtualisation"), "virtual (unknown)");
  EXPECT_EQ(system.facts.at("governor"), "performance");
  EXPECT_EQ(system.facts.at("microcode"), "0x1");
}

TEST_F(SystemFacts, says_unknown_where_the_system_is_silent) {
  const results::Environment system = read_system(root_);
  EXPECT_EQ(system.identity.at("memory"), "unknown");
  EXPECT_EQ(system.facts.at("governor"), "unknown");
}

TEST_F(SystemFacts, hashes_stack_and_threads_but_no_recorded_fact) {
  const results::Environment system = read_system(root_);
  results::Environment worker;
  worker.identity["library.sha256"] = "aa";
  results::Environment other_worker = worker;
  other_worker.facts["library.path"] = "/elsewhere";
  const std::string id = join_environment(system, worker, 1, "default").id();
  EXPECT_EQ(join_environment(system, other_worker, 1, "renamed").id(), id);
  EXPECT_NE(join_environment(system, worker, 2, "default").id(), id);
  other_worker.identity["library.sha256"] = "bb";
  EXPECT_NE(join_environment(system, other_worker, 1, "default").id(), id);
}

TEST(MeasuringHost, names_the_gpu_beside_the_host) {
  results::Environment environment;
  EXPECT_EQ(measuring_host(environment), host_name());
  environment.identity["gpu.uuid"] = "GPU-1f2e";
  EXPECT_EQ(measuring_host(environment), host_name() + " GPU-1f2e");
}

}  // namespace
}  // namespace plumb::session
