// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runners/engine/bench/layer_timing.hpp"
#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb::engine {
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
  std::unique_ptr<worker::Program> program_ = backend_.prepare({"key"}, "a").program;
};

TEST_F(Regions, hot_runs_stay_on_slot_zero) {
  LayerTiming::HotRegion region(*program_);
  region.before_sample();
  region.run(3);
  EXPECT_THAT(backend_.script.enqueued["a"], ElementsAre(0, 0, 0));
}

TEST_F(Regions, a_ring_goes_round) {
  LayerTiming::ColdRegion region(*program_, {1, 2, 0}, nullptr, true);
  for (int i = 0; i < 4; ++i) {
    region.before_sample();
    region.run(1);
  }
  EXPECT_THAT(backend_.script.enqueued["a"], ElementsAre(1, 2, 0, 1));
}

TEST_F(Regions, slot_zero_warms_what_is_shared_after_each_flush) {
  LayerTiming::CacheFlush flush(Bytes{4096});
  LayerTiming::ColdRegion region(*program_, {1, 2}, &flush, true);
  for (int i = 0; i < 3; ++i) {
    region.before_sample();
    region.run(1);
  }
  EXPECT_THAT(backend_.script.enqueued["a"], ElementsAre(0, 1, 2, 0, 1));
}

TEST_F(Regions, nothing_is_warm_when_everything_rotates) {
  LayerTiming::CacheFlush flush(Bytes{4096});
  LayerTiming::ColdRegion region(*program_, {1, 2}, &flush, false);
  region.before_sample();
  region.run(1);
  EXPECT_THAT(backend_.script.enqueued["a"], ElementsAre(1));
}

/// A program of a device with a clock of its own.
class ClockedProgram final : public worker::Program, public worker::Program::DeviceClock {
 public:
  [[nodiscard]] worker::Program::DeviceClock::Sample sample(
      std::span<const std::size_t> slots) override {
    log.push_back(fmt::format("sample of {}", slots.size()));
    return {Seconds(1.0), Seconds(1.0), 4};
  }
  [[nodiscard]] worker::Program::DeviceClock::Sample sample_cold(
      std::size_t slot, Bytes swept, std::optional<std::size_t> warm) override {
    log.push_back(
        fmt::format("slot {} behind {} bytes{}", slot, swept.value, warm ? ", warm" : ""));
    return {Seconds(2.0), Seconds(2.0), 1};
  }
  [[nodiscard]] worker::Program::Facts facts() const override { return {}; }
  void bind(std::size_t, std::span<const model::Tensor>, bool) override {}
  void enqueue(std::size_t) override { log.push_back("an execution of its own"); }
  void synchronize() override {}
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t) override { return {}; }

  std::vector<std::string> log;
};

// Work in other streams, or waiting for it, would leave the device idle while it is launched.
TEST(ClockedRegions, a_device_makes_its_slots_cold_itself) {
  ClockedProgram program;
  LayerTiming::CacheFlush flush(Bytes{4096},
                                [&](Bytes) { program.log.push_back("a sweep of its own"); });
  for (const bool warm : {true, false}) {
    LayerTiming::ColdRegion region(program, {1, 2}, &flush, warm);
    for (int i = 0; i < 3; ++i) {
      region.before_sample();
      EXPECT_EQ(region.own_sample().each, Seconds(2.0));
    }
  }
  EXPECT_THAT(program.log,
              ElementsAre("slot 1 behind 8192 bytes, warm",
                          "slot 2 behind 8192 bytes, warm",
                          "slot 1 behind 8192 bytes, warm",
                          "slot 1 behind 8192 bytes",
                          "slot 2 behind 8192 bytes",
                          "slot 1 behind 8192 bytes"));
}

TEST(ClockedRegions, a_ring_is_sampled_as_a_whole) {
  ClockedProgram program;
  LayerTiming::ColdRegion region(program, {1, 2, 0}, nullptr, true);
  region.before_sample();
  EXPECT_EQ(region.own_sample().repetitions, 4U);
  EXPECT_THAT(program.log, ElementsAre("sample of 3"));
}

}  // namespace
}  // namespace plumb::engine
