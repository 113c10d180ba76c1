// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/program_region.hpp"

#include <gmock/gmock.h>

#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb {
namespace {

using ::testing::ElementsAre;

class Regions : public ::testing::Test {
 protected:
  static ScriptedVariant variant() {
    ScriptedVariant result;
    result.variant.text = "a";
    return result;
  }
  ScriptedBackend backend_{{variant()}};
  std::unique_ptr<Program> program_ = backend_.prepare({"key"}, "a").program;
};

TEST_F(Regions, hot_runs_stay_on_slot_zero) {
  HotRegion region(*program_);
  region.before_sample();
  region.run(3);
  EXPECT_THAT(backend_.script.enqueued["a"], ElementsAre(0, 0, 0));
}

TEST_F(Regions, a_ring_goes_round) {
  RotatingRegion region(*program_, {1, 2, 0}, nullptr, true);
  for (int i = 0; i < 4; ++i) {
    region.before_sample();
    region.run(1);
  }
  EXPECT_THAT(backend_.script.enqueued["a"], ElementsAre(1, 2, 0, 1));
}

TEST_F(Regions, slot_zero_warms_what_is_shared_after_each_flush) {
  CacheFlush flush(Bytes{4096});
  RotatingRegion region(*program_, {1, 2}, &flush, true);
  for (int i = 0; i < 3; ++i) {
    region.before_sample();
    region.run(1);
  }
  EXPECT_THAT(backend_.script.enqueued["a"], ElementsAre(0, 1, 2, 0, 1));
}

TEST_F(Regions, nothing_is_warm_when_everything_rotates) {
  CacheFlush flush(Bytes{4096});
  RotatingRegion region(*program_, {1, 2}, &flush, false);
  region.before_sample();
  region.run(1);
  EXPECT_THAT(backend_.script.enqueued["a"], ElementsAre(1));
}

}  // namespace
}  // namespace plumb
