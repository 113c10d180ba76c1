// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/model_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace plumb::engine {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// Takes step i a microsecond times i + 1, and a floor.
class SteppedProgram final : public worker::Program {
 public:
  explicit SteppedProgram(std::vector<std::vector<bool>>& asked) : asked_(asked) {}
  [[nodiscard]] worker::Program::Facts facts() const override { return {}; }
  void bind(std::size_t /*slot*/,
            std::span<const model::Tensor> /*operands*/,
            bool /*shared*/) override {}
  void enqueue(std::size_t /*slot*/) override {}
  void synchronize() override {}
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t /*slot*/) override { return {}; }
  [[nodiscard]] std::vector<Seconds> profile(std::size_t /*slot*/) override {
    return std::vector<Seconds>(steps, Seconds(1e-5));
  }
  [[nodiscard]] std::vector<Seconds> profile_in_context(std::size_t /*slot*/,
                                                        const std::vector<bool>& wanted) override {
    asked_.push_back(wanted);
    std::vector<Seconds> times;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      times.push_back(wanted[i] ? Seconds(slower * static_cast<double>(i + 1)) + kFloor
                                : Seconds(0));
    }
    return times;
  }

  static constexpr Seconds kFloor{0.5e-6};
  std::size_t steps = 10;
  double slower = 1e-6;  ///< seconds of step 0 in turn

 private:
  std::vector<std::vector<bool>>& asked_;
};

/// Conv, relu, conv, relu, conv, relu, conv, relu, conv of equal keys, and a reorder of the
/// output.
struct RepeatedBlock {
  RepeatedBlock() {
    for (model::LayerId id = 0; id < 9; ++id) {
      model::Layer layer;
      layer.key.text = id % 2 == 0 ? "v1:conv" : "v1:relu";
      ready.plan.fused.graph.layers.push_back(layer);
      ready.plan.fused.origins.push_back({id});
      ready.prepared.variants.emplace_back("impl=a");
      ready.prepared.steps.push_back({id, false});
    }
    ready.prepared.steps.push_back({std::nullopt, true});
    ready.prepared.program = std::make_unique<SteppedProgram>(asked);
  }

  std::vector<std::vector<bool>> asked;
  ReadyModel ready;
};

// The first conv comes after nothing, all others after a relu: four relus and four convs are equal,
// and of four a pass times three.
TEST(ModelProfile, times_a_few_of_equal_steps_and_others_in_the_next_pass) {
  RepeatedBlock block;
  ModelProfile profile(block.ready);
  Seconds now{};
  const measure::Clock clock = [&] { return now += Seconds(1.0); };
  profile.add(1, 1, Seconds(1000.0), clock);
  profile.add(1, 3, Seconds(1000.0), clock);
  const auto asked = [](std::size_t but) {  // for relu number `but` and the conv behind it
    std::vector<bool> steps(10, true);
    steps[1 + 2 * but] = false;
    steps[2 + 2 * but] = false;
    return steps;
  };
  EXPECT_THAT(block.asked, ElementsAre(asked(3), asked(2), asked(1), asked(0)));
  // Medians of 2, 4, 6, 8 us and of 3, 5, 7, 9 us, thrice each.
  const std::vector<double> expected{1e-6, 5e-6, 6e-6, 5e-6, 6e-6, 5e-6, 6e-6, 5e-6, 6e-6, 1e-5};
  const std::vector<results::Execution::Layer> layers = profile.layers(SteppedProgram::kFloor);
  ASSERT_THAT(layers, SizeIs(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(layers[i].in_context) << i;
    EXPECT_NEAR(layers[i].in_context->median.count(), expected[i], 1e-12) << i;
    const Seconds own = layers[i].layers.empty() ? layers[i].reorder : layers[i].seconds;
    EXPECT_DOUBLE_EQ(own.count(), 1e-5) << i;
  }
}

TEST(ModelProfile, adds_up_steps_that_run_one_after_the_other) {
  RepeatedBlock block;
  ModelProfile profile(block.ready);
  EXPECT_FALSE(profile.in_context(Seconds(0)));
  profile.add(1, 4, Seconds(1000.0), [] { return Seconds(0); });
  EXPECT_NEAR(profile.in_context(SteppedProgram::kFloor)->median.count(), 55e-6, 1e-12);
}

// Rounds of 3, 3.3 and 3.63 us: squares about the median of 0.09, 0 and 0.1089; √(0.1989 ÷ 2 ÷ 3)
// times 4.302653 (t, two degrees) are 0.78339 us.
TEST(ModelProfile, is_as_sure_of_the_sum_as_its_rounds_agree) {
  RepeatedBlock block;
  block.ready.prepared.steps = {{0, false}, {1, false}};
  auto& program = dynamic_cast<SteppedProgram&>(*block.ready.prepared.program);
  program.steps = 2;
  ModelProfile profile(block.ready);
  const auto add_round = [&] {
    profile.add(1, 1, Seconds(1000.0), [] { return Seconds(0); });
    profile.end_round();
    program.slower *= 1.1;
  };
  add_round();
  const measure::MeasuredTime one = profile.in_context(SteppedProgram::kFloor).value();
  EXPECT_NEAR(one.median.count(), 3e-6, 1e-12);
  EXPECT_EQ(one.interval.low, Seconds(0)) << "one round says nothing of the spread";
  EXPECT_NEAR(one.interval.high.count(), 6e-6, 1e-12);
  add_round();
  add_round();
  const measure::MeasuredTime three = profile.in_context(SteppedProgram::kFloor).value();
  EXPECT_NEAR(three.median.count(), 3.3e-6, 1e-12);
  EXPECT_NEAR(three.interval.low.count(), 2.51661e-6, 1e-11);
  EXPECT_NEAR(three.interval.high.count(), 4.08339e-6, 1e-11);
}

// 1 → 5 → 6 us on one lane; beside them, once the first has ended, 5 → 6 → 5 → 6 → 5 → 6 us; the
// reorder behind all.
TEST(ModelProfile, ends_steps_side_by_side_with_the_last_of_them) {
  RepeatedBlock block;
  block.ready.prepared.needs = {{}, {0}, {1}, {0}, {3}, {4}, {5}, {6}, {7}, {2, 8}};
  ModelProfile profile(block.ready);
  profile.add(1, 4, Seconds(1000.0), [] { return Seconds(0); });
  EXPECT_NEAR(profile.in_context(SteppedProgram::kFloor)->median.count(), 44e-6, 1e-12);
}

TEST(ModelProfile, begins_no_second_pass_behind_its_budget) {
  RepeatedBlock block;
  ModelProfile profile(block.ready);
  Seconds now{};
  profile.add(1, 5, Seconds(0.5), [&] { return now += Seconds(1.0); });
  EXPECT_THAT(block.asked, SizeIs(1));
}

// Eight of ten steps are timed in a pass, here in three parts: 2, 3 and 3 of them.
TEST(ModelProfile, splits_a_pass_into_parts_and_tells_what_a_whole_one_takes) {
  RepeatedBlock block;
  ModelProfile profile(block.ready);
  Seconds now{};
  const measure::Clock clock = [&] { return now += Seconds(1.0); };
  const auto add_part = [&] { profile.add(3, 1, Seconds(0), clock); };
  add_part();
  add_part();
  EXPECT_EQ(profile.pass_time(), Seconds(0)) << "none is complete";
  add_part();
  EXPECT_EQ(profile.pass_time(), Seconds(3.0));
  const auto steps = [](std::vector<std::size_t> wanted) {
    std::vector<bool> flags(10);
    for (const std::size_t step : wanted) {
      flags[step] = true;
    }
    return flags;
  };
  EXPECT_THAT(block.asked, ElementsAre(steps({0, 1}), steps({2, 3, 4}), steps({5, 6, 9})));
  profile.add(1, 1, Seconds(0), clock);  // the next of the equal steps, at once
  EXPECT_EQ(block.asked.back(), steps({0, 1, 2, 3, 4, 7, 8, 9}));
  EXPECT_EQ(profile.pass_time(), Seconds(2.0)) << "of two";
}

TEST(ModelProfile, has_no_layers_without_a_pass) {
  RepeatedBlock block;
  EXPECT_TRUE(ModelProfile(block.ready).layers(Seconds(0)).empty());
}

}  // namespace
}  // namespace plumb::engine
