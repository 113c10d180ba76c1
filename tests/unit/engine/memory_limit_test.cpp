// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "runners/engine/exec/this_process.hpp"

namespace plumb::engine {
namespace {

TEST(MemoryLimit, reads_what_is_available) {
  const std::optional<Bytes> memory = available_memory();
  ASSERT_TRUE(memory.has_value());
  EXPECT_GT(memory->value, std::int64_t{1} << 20);
  EXPECT_LT(memory->value, std::int64_t{1} << 50);
}

TEST(MemoryLimit, reads_what_the_process_holds) {
  constexpr std::int64_t kSize = std::int64_t{64} << 20;
  const std::optional<Bytes> before = resident_memory();
  ASSERT_TRUE(before.has_value());
  {
    const std::vector<char> held(kSize, 'x');
    EXPECT_NEAR(static_cast<double>(resident_memory()->value - before->value), kSize, 0.05 * kSize);
    EXPECT_EQ(held.back(), 'x');
  }
  EXPECT_NEAR(static_cast<double>(resident_memory()->value - before->value), 0.0, 0.05 * kSize);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Ends with 0 if 64 MiB fit below a limit of 256 MiB and 512 MiB do not.
[[noreturn]] void allocate_below_a_limit() {
  limit_memory(Bytes{std::int64_t{256} << 20});
  limit_memory(Bytes{std::int64_t{1} << 40});  // never raises
  if (memory_limit() != Bytes{std::int64_t{256} << 20}) {
    std::_Exit(3);
  }
  const std::vector<char> small(std::size_t{64} << 20);
  try {
    const std::vector<char> large(std::size_t{512} << 20);
  } catch (const std::bad_alloc&) {
    std::_Exit(small.empty() ? 2 : 0);
  }
  std::_Exit(1);
}

TEST(MemoryLimitDeathTest, makes_an_allocation_beyond_it_fail) {
  EXPECT_EXIT(allocate_below_a_limit(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace plumb::engine
