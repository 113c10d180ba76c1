// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "tests/support/cuda_driver/control.hpp"

namespace plumb::stand_in {

/// A test of the stand-in of the CUDA driver, with a context that is current.
class StandInTest : public ::testing::Test {
 protected:
  void SetUp() override {
    control().reset(1);
    control().set_delay(kDelay);
    context_.emplace(device_);
  }
  void TearDown() override { context_.reset(); }

  [[nodiscard]] const cuda::abi::DriverCalls& cu() const { return driver_.calls(); }
  [[nodiscard]] const cuda::Driver& driver() const { return driver_; }
  [[nodiscard]] static std::string findings() { return control().findings(); }

  /// Puts a work of a library into a stream that reads and writes memory.
  static int work(
      void* stream, std::vector<Range> ranges, std::function<void()> run = [] {}) {
    return control().enqueue(stream, "a work", std::move(ranges), std::move(run));
  }

  static constexpr unsigned kDelay = 2000;  // microseconds: a work that is not waited for is late

  cuda::Driver driver_;
  cuda::Device device_{driver_};
  std::optional<cuda::Device::Context> context_;
};

}  // namespace plumb::stand_in
