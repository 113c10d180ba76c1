// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "runners/engine/profile/sample_source.hpp"

namespace plumb::engine {
namespace {

std::vector<std::uint64_t> drained(SampleSource::Ring& ring) {
  std::vector<std::uint64_t> addresses;
  ring.drain(
      [&](const SampleSource::Ring::Sample& sample) { addresses.push_back(sample.address); });
  return addresses;
}

TEST(SampleRing, gives_samples_once_in_their_order) {
  SampleSource::Ring ring(4);
  ring.push({1, 0});
  ring.push({2, 0});
  EXPECT_EQ(drained(ring), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_TRUE(drained(ring).empty());
}

TEST(SampleRing, counts_what_has_no_room_and_keeps_what_was_there) {
  SampleSource::Ring ring(3);  // room for four
  for (std::uint64_t i = 0; i < 6; ++i) {
    ring.push({i, 0});
  }
  EXPECT_EQ(ring.lost(), 2U);
  EXPECT_EQ(drained(ring), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  ring.push({9, 0});
  EXPECT_EQ(drained(ring), (std::vector<std::uint64_t>{9}));
}

TEST(SampleRing, loses_nothing_between_two_threads_but_what_it_counts) {
  constexpr std::uint64_t kCount = 200'000;
  SampleSource::Ring ring(256);
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      ring.push({i, static_cast<std::uint32_t>(i)});
    }
  });
  std::uint64_t seen = 0;
  std::uint64_t next = 0;
  bool ordered = true;
  const auto take = [&](const SampleSource::Ring::Sample& sample) {
    ordered = ordered && sample.address >= next &&
              sample.step == static_cast<std::uint32_t>(sample.address);
    next = sample.address + 1;
    ++seen;
  };
  while (seen + ring.lost() < kCount) {
    ring.drain(take);
  }
  producer.join();
  ring.drain(take);
  EXPECT_TRUE(ordered);
  EXPECT_EQ(seen + ring.lost(), kCount);
}

}  // namespace
}  // namespace plumb::engine
