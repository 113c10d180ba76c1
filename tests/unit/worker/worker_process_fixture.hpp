// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "harness/worker/client/worker_process.hpp"

namespace plumb::worker {

inline const model::LayerKey kKey{"v1:any"};

/// Returns options for a worker that misbehaves in a way.
inline WorkerProcess::Options misbehaving(const std::string& how) {
  WorkerProcess::Options options;
  options.stack.name = "test";
  options.stack.backend = "misbehaving";
  options.stack.variables = {{"PLUMB_MISBEHAVE", how}};
  return options;
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

/// Tells whether a process still runs (a zombie does not).
inline bool runs(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.at(name_end + 2) != 'Z' &&
         text.at(name_end + 2) != 'X';
}

inline bool ends_within_seconds(pid_t pid) {
  for (int i = 0; i < 500 && runs(pid); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !runs(pid);
}

/// Fixture that checks that no descriptor and no child is left behind.
class WorkerProcessTest : public testing::Test {
 protected:
  void SetUp() override { descriptors_ = open_descriptors(); }

  void TearDown() override {
    EXPECT_EQ(open_descriptors(), descriptors_) << "descriptors are left open";
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
  }

 private:
  std::size_t descriptors_ = 0;
};

}  // namespace plumb::worker
