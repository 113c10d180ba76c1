// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runners/engine/exec/schedule.hpp"
#include "runners/engine/random_stream.hpp"

namespace plumb::engine {
namespace {

TEST(MemoryPlan, reuses_the_bytes_of_what_is_no_longer_needed) {
  const std::vector<MemoryPlan::Piece> chain{
      {1024, {0, 1}}, {1024, {1, 2}}, {1024, {2, 3}}, {1024, {3, 4}}};
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_EQ(plan.bytes, 2048U);
  EXPECT_EQ(plan.offsets, (std::vector<std::size_t>{0, 1024, 0, 1024}));
}

TEST(MemoryPlan, puts_a_small_piece_into_a_gap) {
  // The first two enclose a gap once the middle one is dead.
  const std::vector<MemoryPlan::Piece> pieces{
      {300, {0, 9}}, {200, {0, 2}}, {100, {0, 4, 9}}, {128, {5, 9}}};
  const MemoryPlan plan = plan_memory(pieces);
  EXPECT_EQ(plan.bytes, 320U + 256U + 128U);
  EXPECT_EQ(plan.offsets[3], 320U);
}

TEST(MemoryPlan, of_nothing_is_nothing) {
  EXPECT_EQ(plan_memory({}).bytes, 0U);
}

TEST(MemoryPlan, never_lets_two_live_pieces_share_bytes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomStream random(seed);
    std::vector<MemoryPlan::Piece> pieces;
    std::uint64_t at = 0;
    std::vector<std::size_t> needed(40, 0);
    for (int i = 0; i < 60; ++i) {
      MemoryPlan::Piece piece;
      piece.bytes = 1 + random.below(at++, 5000);
      const std::size_t first = random.below(at++, 30);
      const std::size_t last = first + random.below(at++, 10);
      piece.steps = {first, last};
      for (std::size_t step = first; step <= last; ++step) {
        needed[step] += piece.bytes;
      }
      pieces.push_back(piece);
    }
    const std::size_t alignment =
        seed % 2 == 0 ? MemoryPlan::kAlignment : MemoryPlan::kDeviceAlignment;
    const MemoryPlan plan = plan_memory(pieces, alignment);
    EXPECT_GE(plan.bytes, *std::max_element(needed.begin(), needed.end()));
    for (std::size_t a = 0; a < pieces.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % alignment, 0U);
      EXPECT_LE(plan.offsets[a] + pieces[a].bytes, plan.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        const bool in_time = pieces[a].steps.front() <= pieces[b].steps.back() &&
                             pieces[b].steps.front() <= pieces[a].steps.back();
        const bool in_space = plan.offsets[a] < plan.offsets[b] + pieces[b].bytes &&
                              plan.offsets[b] < plan.offsets[a] + pieces[a].bytes;
        ASSERT_FALSE(in_time && in_space) << "seed " << seed << ": " << a << " and " << b;
      }
    }
  }
}

}  // namespace
}  // namespace plumb::engine
