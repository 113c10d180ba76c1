// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/model_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace plumb {
namespace {

using testing::Each;
using testing::SizeIs;

/// Takes step i a microsecond times i + 1, and a floor.
class SteppedProgram final : public Program {
 public:
  explicit SteppedProgram(std::vector<std::vector<bool>>& asked) : asked_(asked) {}
  [[nodiscard]] ProgramFacts facts() const override { return {}; }
  void bind(std::size_t /*slot*/, std::span<const Tensor> /*operands*/, bool /*shared*/) override {}
  void enqueue(std::size_t /*slot*/) override {}
  void synchronize() override {}
  [[nodiscard]] std::vector<Tensor> outputs(std::size_t /*slot*/) override { return {}; }
  [[nodiscard]] std::vector<Seconds> profile_in_turn(std::size_t /*slot*/,
                                                     const std::vector<bool>& wanted,
                                                     Bytes most) override {
    asked_.push_back(wanted);
    EXPECT_EQ(most, Bytes{64});
    std::vector<Seconds> times;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      times.push_back(wanted[i] ? Seconds(1e-6 * static_cast<double>(i + 1)) + kFloor : Seconds(0));
    }
    return times;
  }

  static constexpr Seconds kFloor{0.5e-6};

 private:
  std::vector<std::vector<bool>>& asked_;
};

/// Is conv, relu, conv, relu, conv of equal keys, and a reorder of the output.
struct RepeatedBlock {
  RepeatedBlock() {
    for (LayerId id = 0; id < 5; ++id) {
      Layer layer;
      layer.key.text = id % 2 == 0 ? "v1:conv" : "v1:relu";
      ready.plan.fused.graph.layers.push_back(layer);
      ready.plan.fused.origins.push_back({id});
      ready.prepared.variants.emplace_back("impl=a");
      ready.prepared.steps.push_back({id, false});
      layers.push_back({{id}, layer.key, "impl=a", {}, {}, 0, {}});
    }
    ready.prepared.steps.push_back({std::nullopt, true});
    layers.push_back({{}, {}, "", {}, {}, 1, {}});
    ready.prepared.program = std::make_unique<SteppedProgram>(asked);
  }

  std::vector<std::vector<bool>> asked;
  ReadyModel ready;
  std::vector<ExecutedLayer> layers;
};

TEST(ModelProfile, times_equal_steps_after_equal_ones_once_for_all) {
  RepeatedBlock block;
  Seconds now{};
  add_times_in_turn(
      block.ready,
      {Bytes{64}, SteppedProgram::kFloor, Seconds(1000.0), [&] { return now += Seconds(1.0); }},
      block.layers);
  // The first conv comes after nothing; the third step after a relu, as the fifth.
  EXPECT_THAT(block.asked, SizeIs(7));
  EXPECT_THAT(block.asked, Each((std::vector<bool>{true, true, true, false, false, true})));
  const std::vector<double> expected{1e-6, 2e-6, 3e-6, 2e-6, 3e-6, 6e-6};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(block.layers[i].in_turn) << i;
    EXPECT_NEAR(block.layers[i].in_turn->median.count(), expected[i], 1e-12) << i;
  }
}

TEST(ModelProfile, begins_no_further_pass_behind_its_budget_but_three) {
  RepeatedBlock block;
  Seconds now{};
  add_times_in_turn(block.ready,
                    {Bytes{64}, Seconds(0), Seconds(0.5), [&] { return now += Seconds(1.0); }},
                    block.layers);
  EXPECT_THAT(block.asked, SizeIs(3));
}

}  // namespace
}  // namespace plumb
