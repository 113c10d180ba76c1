// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "runners/onednn/exec/plan_slot.hpp"

namespace plumb::onednn {
namespace {

std::size_t none(std::size_t /*limit*/) {
  return 0;
}

TEST(BufferBlock, keeps_buffers_apart_and_aligned) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 40; ++i) {
    sizes.push_back(i * i * 97 % 20'000);
  }
  std::size_t seed = 1;
  const PlanSlot::Block block(
      sizes, PlanSlot::Block::AlignedBytes::kHugeFrom, [&](std::size_t limit) {
        EXPECT_EQ(limit, PlanSlot::Block::kColours);
        return (seed = seed * 5 + 3) % limit;
      });
  const std::byte* end = block.at(0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(block.at(i));
    EXPECT_EQ(address % (sizes[i] >= PlanSlot::Block::AlignedBytes::kPage
                             ? PlanSlot::Block::AlignedBytes::kPage
                             : 64),
              0U)
        << i;
    EXPECT_GE(block.at(i), end) << i;
    EXPECT_LT(block.at(i),
              end + (PlanSlot::Block::kColours + 1) * PlanSlot::Block::AlignedBytes::kPage)
        << i;
    end = block.at(i) + sizes[i];
    for (std::size_t byte = 0; byte < sizes[i]; ++byte) {
      ASSERT_EQ(block.at(i)[byte], std::byte{0});
      block.at(i)[byte] = std::byte{1};  // a buffer that lay over another would show
    }
  }
}

TEST(BufferBlock, moves_buffers_of_a_page_by_the_colour_that_is_drawn) {
  const std::array<std::size_t, 3> sizes{4096, 100, 8192};
  const PlanSlot::Block packed(sizes, PlanSlot::Block::AlignedBytes::kHugeFrom, none);
  EXPECT_EQ(packed.at(1) - packed.at(0), 4096);
  EXPECT_EQ(packed.at(2) - packed.at(0), 8192);
  const PlanSlot::Block moved(
      sizes, PlanSlot::Block::AlignedBytes::kHugeFrom, [](std::size_t) { return 3; });
  EXPECT_EQ(moved.at(2) - moved.at(0), 8192 + 3 * 4096);
}

TEST(BufferBlock, huge_blocks_start_at_a_huge_page) {
  const std::array<std::size_t, 2> sizes{40'000, 40'000};
  const PlanSlot::Block block(sizes, PlanSlot::Block::AlignedBytes::kHugeFrom, none);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.at(0)) % (std::uintptr_t{2} << 20), 0U);
}

TEST(BufferBlock, takes_the_mean_of_its_gaps_on_average) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 400; ++i) {
    sizes.push_back(i % 3 == 0 ? 100 : 5000 + i * 7);
  }
  std::size_t seed = 1;
  const PlanSlot::Block block(
      sizes, PlanSlot::Block::AlignedBytes::kHugeFrom, [&](std::size_t limit) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        return (seed >> 33U) % limit;
      });
  const double taken = static_cast<double>(block.at(399) + sizes[399] - block.at(0));
  const auto mean = static_cast<double>(
      PlanSlot::Block::mean_bytes(sizes, PlanSlot::Block::AlignedBytes::kHugeFrom));
  EXPECT_NEAR(mean, taken, 0.05 * taken + (2 << 20));  // a whole number of huge pages
  EXPECT_GT(taken, 8e6);                               // of which the buffers have 2.5 MB
  EXPECT_EQ(PlanSlot::Block::mean_bytes(sizes, std::size_t{1} << 40) %
                PlanSlot::Block::AlignedBytes::kPage,
            0U);
}

TEST(BufferBlock, refuses_what_no_memory_holds) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  for (const std::array<std::size_t, 2> sizes : {std::array{kAll, std::size_t{1}},
                                                 std::array{kAll - 5000, std::size_t{8192}},
                                                 std::array{kAll / 2, kAll / 2}}) {
    EXPECT_THROW(PlanSlot::Block(sizes, PlanSlot::Block::AlignedBytes::kHugeFrom, none),
                 std::bad_alloc);
  }
}

}  // namespace
}  // namespace plumb::onednn
