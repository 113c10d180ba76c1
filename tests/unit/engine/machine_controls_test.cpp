// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/service/machine_controls.hpp"

#include <gtest/gtest.h>

#include "harness/results/paired_round.hpp"

namespace plumb::engine {
namespace {

TEST(MachineControls, are_the_same_work_every_time) {
  LayerTiming timing;
  for (const char* name : {results::kProductKey, results::kCopyKey}) {
    const results::Measurement first = measure_control(model::LayerKey{name}, timing);
    const results::Measurement second = measure_control(model::LayerKey{name}, timing);
    ASSERT_TRUE(first.outcome.timed() && second.outcome.timed()) << first.outcome.reason;
    // 8.2 MFLOP and 64 MiB moved: no machine does either in ten microseconds. A busy host may take
    // several times as long, but not a hundred.
    EXPECT_GT(first.summary.median, Seconds(1e-5));
    EXPECT_LT(second.summary.median / first.summary.median, 100.0);
    EXPECT_GT(second.summary.median / first.summary.median, 0.01);
    EXPECT_FALSE(first.samples.empty());
  }
  EXPECT_LT(measure_control(model::LayerKey{results::kFloorKey}, timing).summary.median,
            Seconds(1e-5));
  EXPECT_EQ(measure_control(model::LayerKey{"control:other"}, timing).outcome.kind,
            results::Outcome::Kind::kUnsupported);
}

}  // namespace
}  // namespace plumb::engine
