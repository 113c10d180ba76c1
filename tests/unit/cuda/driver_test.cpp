// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/driver.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "harness/base/error.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_health.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::cuda {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string missing_driver() {
  try {
    const Driver driver;
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    return error.what();
  }
}

TEST(Driver, says_what_is_missing_and_what_to_do) {
  const std::string text = missing_driver();
  if (text.empty()) {
    GTEST_SKIP() << "there is a GPU here";
  }
  EXPECT_THAT(text, AnyOf(StartsWith("no NVIDIA driver"), StartsWith("no GPU")));
  EXPECT_THAT(text, HasSubstr("libcuda.so.1"));
  EXPECT_THAT(text, HasSubstr("run on a machine with an NVIDIA GPU"));
}

TEST(Driver, asks_for_entry_points_that_the_toolkits_library_has) {
  const std::string stub = std::string(PLUMB_TEST_CUDA_FOLDER) + "/stubs/libcuda.so";
  void* const library = dlopen(stub.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    GTEST_SKIP() << "the CUDA toolkit is not here";
  }
  abi::DriverCalls calls;
  std::size_t found = 0;
  abi::for_each_driver_call(calls, [&](auto& call, const char* name) {
    EXPECT_NE(dlsym(library, name), nullptr) << name;
    EXPECT_EQ(call, nullptr) << name << " is visited twice";
    found += 1;
  });
  // One pointer each, and nothing else.
  EXPECT_EQ(found * sizeof(void*), sizeof calls);

  abi::DriverCalls::Graphs graph_calls;
  found = 0;
  abi::for_each_graph_call(graph_calls, [&](const auto& call, const char* name) {
    EXPECT_NE(dlsym(library, name), nullptr) << name;
    EXPECT_EQ(call, nullptr) << name;
    found += 1;
  });
  EXPECT_EQ(found * sizeof(void*), sizeof graph_calls);
}

TEST(Device, writes_identifiers_as_nvidias_tools_do) {
  abi::Uuid uuid{};
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    uuid.at(i) = static_cast<unsigned char>(i * 17);
  }
  EXPECT_EQ(uuid_text(uuid), "GPU-00112233-4455-6677-8899-aabbccddeeff");
}

TEST(DeviceLock, keeps_a_second_worker_off) {
  const std::filesystem::path folder = ::testing::TempDir();
  std::optional<Device::Context::Lock> first(std::in_place, "GPU-test", folder);
  try {
    const Device::Context::Lock second("GPU-test", folder);
    FAIL() << "two workers have the GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kTryAgain);
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(getpid())));
  }
  const Device::Context::Lock another("GPU-another", folder);
  first.reset();
  const Device::Context::Lock third("GPU-test", folder);
}

TEST(DeviceLock, is_shared_by_the_workers_of_one_harness_that_take_turns) {
  const TemporaryFolder folder;
  constexpr int kHarness = 17;
  std::optional<Device::Context::Lock> first(std::in_place, "GPU-test", folder.path(), kHarness);
  const Device::Context::Lock second("GPU-test", folder.path(), kHarness);
  EXPECT_THROW(Device::Context::Lock("GPU-test", folder.path(), kHarness + 1), Error);
  EXPECT_THROW(Device::Context::Lock("GPU-test", folder.path()), Error);
  first.reset();
  EXPECT_THROW(Device::Context::Lock("GPU-test", folder.path()), Error)
      << "the second is still there";
  const Device::Context::Lock third("GPU-test", folder.path(), kHarness);
}

// In a sticky folder with fs.protected_regular, opening another user's file with O_CREAT fails.
TEST(DeviceLock, is_shared_by_users) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can be two users";
  }
  const TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path() / "sticky";
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, static_cast<std::filesystem::perms>(01777));
  std::filesystem::permissions(temporary.path(), static_cast<std::filesystem::perms>(0755));
  { const Device::Context::Lock first("GPU-test", folder); }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      if (setgid(65534) != 0 || setuid(65534) != 0) {
        _exit(2);
      }
      const Device::Context::Lock second("GPU-test", folder);
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(LostContext, is_told_status_by_status) {
  // What CUDA 13's cuda.h says of each status around those that are fatal.
  for (const int refused :
       {1,   2,   100, 200, 201, 205, 213, 215, 219, 221, 225, 300, 400, 600, 701,
        703, 704, 705, 708, 711, 712, 713, 720, 800, 801, 802, 900, 901, 910}) {
    EXPECT_FALSE(loses_context(refused)) << refused;
  }
  for (const int lost :
       {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 911, 999}) {
    EXPECT_TRUE(loses_context(lost)) << lost;
  }
}

TEST(DeviceLock, says_why_there_is_none) {
  try {
    const Device::Context::Lock lock("GPU-test", "/nowhere-at-all");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("TMPDIR"));
  }
}

TEST(Management, says_why_it_knows_nothing) {
  results::Environment environment;
  describe_management("GPU-there-is-none", environment);
  EXPECT_NE(environment.facts.at("gpu.management"), "");
  EXPECT_NE(environment.facts.at("gpu.management"), "NVML");
  EXPECT_FALSE(environment.identity.contains("gpu.mig"));
}

}  // namespace
}  // namespace plumb::cuda
