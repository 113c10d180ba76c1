// SPDX-License-Identifier: Apache-2.0
#include "harness/base/limited_call.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace plumb {
namespace {

using namespace std::chrono_literals;

void spin() {
  const volatile bool forever = true;
  while (forever) {
  }
}

TEST(LimitedCall, that_does_not_return_ends_the_process_with_its_message) {
  EXPECT_EXIT(
      {
        limit_calls(50ms);
        const LimitedCall call("the rule for 'a\x1b[31m\nb'");
        spin();
      },
      testing::ExitedWithCode(2),
      "error: the rule for 'a.\\[31m.b' did not end within 50 ms of processor time");
}

TEST(LimitedCall, is_limited_in_every_thread) {
  EXPECT_EXIT(
      {
        limit_calls(50ms);
        std::thread([] {
          const LimitedCall call("a rule");
          spin();
        }).join();
      },
      testing::ExitedWithCode(2),
      "a rule did not end");
}

TEST(LimitedCall, counts_the_processor_time_of_its_own_thread_and_call) {
  EXPECT_EXIT(
      {
        limit_calls(100ms);
        {
          const LimitedCall call("waiting is no work");
          std::this_thread::sleep_for(300ms);
        }
        for (int i = 0; i < 20; ++i) {
          const LimitedCall call("each call has a limit of its own");
          const std::clock_t begin = std::clock();
          while (std::clock() - begin < CLOCKS_PER_SEC / 100) {
          }
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      "");
}

}  // namespace
}  // namespace plumb
