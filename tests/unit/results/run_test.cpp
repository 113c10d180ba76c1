// SPDX-License-Identifier: Apache-2.0
#include "harness/results/run.hpp"

#include <gtest/gtest.h>

namespace plumb::results {
namespace {

TEST(RunState, reads_back_from_its_text) {
  for (const RunState state : {RunState::kRunning, RunState::kFinished, RunState::kInterrupted}) {
    EXPECT_EQ(parse_run_state(to_text(state)), state);
  }
  EXPECT_EQ(to_text(RunState::kInterrupted), "interrupted");
  EXPECT_EQ(parse_run_state("done"), std::nullopt);
}

}  // namespace
}  // namespace plumb::results
