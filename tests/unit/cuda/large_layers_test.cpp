// SPDX-License-Identifier: Apache-2.0
// Built-in kernels on tensors with more than 2^31 elements, and with more rows than a launch has
// blocks: a few of their blocks are run, over memory that is only touched where they touch it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "tests/unit/cuda/host_kernels.hpp"

namespace plumb::cuda {
namespace {

constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 20;

/// Array of floats of which only what is touched takes memory.
class SparseArray {
 public:
  explicit SparseArray(std::int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(float)),
        data_(mmap(nullptr,
                   bytes_,
                   PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1,
                   0)) {}
  ~SparseArray() {
    if (there()) {
      munmap(data_, bytes_);
    }
  }
  SparseArray(const SparseArray&) = delete;
  SparseArray& operator=(const SparseArray&) = delete;
  SparseArray(SparseArray&&) = delete;
  SparseArray& operator=(SparseArray&&) = delete;
  [[nodiscard]] bool there() const { return data_ != MAP_FAILED; }
  float& at(std::int64_t index) { return static_cast<float*>(data_)[index]; }
  [[nodiscard]] abi::DevicePointer address() const {
    return reinterpret_cast<abi::DevicePointer>(data_);
  }

 private:
  std::size_t bytes_;
  void* data_;
};

float number_at(std::int64_t index) {
  return static_cast<float>(index % 1021) - 510.0F;
}

/// One layer with a single launch whose arrays are too large to be filled.
class LargeLayer {
 public:
  explicit LargeLayer(const std::string& key)
      : spec_(model::parse_key({key})),
        layer_(builtin_layer(spec_, TensorLayout::kChannelsFirst)),
        launch_(layer_.launches.at(0)) {
    kernels_.add(launch_);
    kernels_.compile();
    for (const auto& input : spec_.inputs) {
      arrays_.push_back(std::make_unique<SparseArray>(model::element_count(input.value())));
    }
    arrays_.push_back(std::make_unique<SparseArray>(model::element_count(spec_.outputs.at(0))));
  }

  [[nodiscard]] const KernelLaunch& launch() const { return launch_; }
  [[nodiscard]] bool there() const {
    return std::all_of(
        arrays_.begin(), arrays_.end(), [](const auto& one) { return one->there(); });
  }
  float& in(std::size_t operand, std::int64_t index) { return arrays_.at(operand)->at(index); }
  float& out(std::int64_t index) { return arrays_.back()->at(index); }

  /// Runs the first and the last two blocks.
  void run() {
    std::vector<abi::DevicePointer> addresses;
    for (const std::size_t operand : launch_.operands) {
      addresses.push_back(arrays_.at(operand)->address());
    }
    kernels_.run_blocks(launch_, addresses, 0, 2);
    kernels_.run_blocks(launch_, addresses, launch_.blocks - 2, launch_.blocks);
  }

  /// Calls `visit` with what these blocks work on, of `count` in all: a block takes `width` that
  /// follow each other at a time.
  void for_each_touched(std::int64_t count,
                        std::int64_t width,
                        const std::function<void(std::int64_t)>& visit) const {
    const auto blocks = std::int64_t{launch_.blocks};
    for (const std::int64_t block : {std::int64_t{0}, std::int64_t{1}, blocks - 2, blocks - 1}) {
      for (std::int64_t from = block * width; from < count; from += blocks * width) {
        for (std::int64_t index = from; index < std::min(count, from + width); ++index) {
          visit(index);
        }
      }
    }
  }

 private:
  model::LayerSpec spec_;
  BuiltinLayer layer_;
  KernelLaunch launch_;
  HostKernels kernels_;
  std::vector<std::unique_ptr<SparseArray>> arrays_;
};

constexpr std::int64_t kMany = (std::int64_t{1} << 31) + 70'000;

TEST(LargeLayers, elements_beyond_2_to_the_31_are_found) {
  LargeLayer layer(
      "v1:eltwise;in=f32[2147553648];out=f32[2147553648];acc=f32;math=strict;fn=relu;"
      "parameters=[]");
  ASSERT_TRUE(layer.there());
  EXPECT_EQ(layer.launch().blocks, kMaxBlocks);
  const auto width = std::int64_t{layer.launch().threads};
  layer.for_each_touched(kMany, width, [&](std::int64_t i) { layer.in(0, i) = number_at(i); });
  layer.run();
  std::int64_t last = 0;
  layer.for_each_touched(kMany, width, [&](std::int64_t i) {
    ASSERT_EQ(layer.out(i), std::max(0.0F, number_at(i))) << i;
    last = std::max(last, i);
  });
  EXPECT_GT(last, std::int64_t{1} << 31);
}

TEST(LargeLayers, a_broadcast_operand_is_found_from_far_elements) {
  LargeLayer layer(
      "v1:binary;in=f32[2147553648],f32[1];out=f32[2147553648];acc=f32;math=strict;"
      "fn=add");
  ASSERT_TRUE(layer.there());
  const auto width = std::int64_t{layer.launch().threads};
  layer.in(1, 0) = 7.0F;
  layer.for_each_touched(kMany, width, [&](std::int64_t i) { layer.in(0, i) = number_at(i); });
  layer.run();
  layer.for_each_touched(
      kMany, width, [&](std::int64_t i) { ASSERT_EQ(layer.out(i), number_at(i) + 7.0F) << i; });
}

TEST(LargeLayers, strides_beyond_2_to_the_31_are_followed) {
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kColumns = 900'000'000;
  LargeLayer layer(
      "v1:transpose;in=f32[3,900000000];out=f32[900000000,3];acc=f32;math=strict;"
      "perm=[1,0]");
  ASSERT_TRUE(layer.there());
  const auto width = std::int64_t{layer.launch().threads};
  const auto source = [&](std::int64_t i) { return i % kRows * kColumns + i / kRows; };
  layer.for_each_touched(
      kRows * kColumns, width, [&](std::int64_t i) { layer.in(0, source(i)) = number_at(i); });
  layer.run();
  layer.for_each_touched(
      kRows * kColumns, width, [&](std::int64_t i) { ASSERT_EQ(layer.out(i), number_at(i)) << i; });
}

TEST(LargeLayers, more_rows_than_blocks_are_all_worked_on) {
  constexpr std::int64_t kRows = 2 * kMaxBlocks + 1'000;
  constexpr std::int64_t kLine = 1'030;
  LargeLayer layer(
      "v1:softmax;in=f32[2098152,1030];out=f32[2098152,1030];acc=f32;math=strict;"
      "axis=1;coerce=0;log=0");
  ASSERT_TRUE(layer.there());
  ASSERT_TRUE(layer.launch().in_rows);
  EXPECT_EQ(layer.launch().blocks, kMaxBlocks);
  const auto value = [](std::int64_t row, std::int64_t i) {
    return static_cast<float>((row + i) % 7) / 3.0F;
  };
  layer.for_each_touched(kRows, 1, [&](std::int64_t row) {
    for (std::int64_t i = 0; i < kLine; ++i) {
      layer.in(0, row * kLine + i) = value(row, i);
    }
  });
  layer.run();
  std::set<std::int64_t> rows;
  layer.for_each_touched(kRows, 1, [&](std::int64_t row) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < kLine; ++i) {
      sum += std::exp(static_cast<double>(value(row, i)));
    }
    for (std::int64_t i = 0; i < kLine; i += 13) {
      ASSERT_NEAR(
          layer.out(row * kLine + i), std::exp(static_cast<double>(value(row, i))) / sum, 1e-7)
          << row;
    }
    rows.insert(row);
  });
  EXPECT_GE(*rows.rbegin(), 2 * kMaxBlocks - 1);
  EXPECT_GT(*rows.rbegin() * kLine, std::int64_t{1} << 31);
}

TEST(HostKernels, shared_memory_holds_no_numbers_when_a_block_begins) {
  // Adds to shared memory what nothing was written to before, and what the block itself wrote.
  KernelLaunch launch = row_launch(
      "([](const Operands& operands, const RowShape&) {"
      "  __shared__ float stale[2];"
      "  float* const out = static_cast<float*>(operands.at[0]);"
      "  if (threadIdx.x == 0) { stale[1] = 1.0F; }"
      "  __syncthreads();"
      "  if (threadIdx.x == 0) { out[2 * blockIdx.x] = stale[0]; out[2 * blockIdx.x + 1] = "
      "stale[1]; stale[0] = 2.0F; }"
      "})",
      {},
      {0});
  launch.blocks = 2;
  HostKernels kernels;
  kernels.add(launch);
  kernels.compile();
  std::vector<float> out(4);
  const std::vector<abi::DevicePointer> addresses{reinterpret_cast<abi::DevicePointer>(out.data())};
  kernels.run(launch, addresses);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[2])) << "left by the block before";
  EXPECT_EQ(out[1], 1.0F);
  EXPECT_EQ(out[3], 1.0F);
}

}  // namespace
}  // namespace plumb::cuda
