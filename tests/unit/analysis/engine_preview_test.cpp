// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/library/stack_difference.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/engine_choice.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

constexpr const char* kTail =
    "acc=f32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";

model::LayerKey key_of(const std::string& type, const std::string& tail = kTail) {
  return {"v1:conv;in=" + type + "[1,8,14,14]," + type + "[16,8,3,3]c;out=" + type +
          "[1,16,14,14];" + tail};
}

results::EngineChoices::Configuration configuration(std::int64_t engine,
                                                    std::vector<std::string> notes = {}) {
  results::EngineChoices::Configuration result;
  result.engine = engine;
  result.knobs = {{"TILE_SIZE", 5}};
  result.numerical_notes = std::move(notes);
  result.workspace = Bytes{128};
  result.plan_digest = "00";
  return result;
}

results::EngineChoices choices(const model::LayerKey& key,
                               std::vector<results::EngineChoices::Configuration> ranked) {
  results::EngineChoices::Offer offer;
  offer.layout = "NCHW";
  offer.engines = 80;
  offer.rankings = {{"A", std::move(ranked), ""}};
  return {key, {}, {offer}};
}

EnginePreview::Comparison compare(const results::EngineChoices::Configuration& from,
                                  const results::EngineChoices::Configuration& to) {
  const model::LayerKey key = key_of("f16");
  const EnginePreview::Layer layer{
      key, {{"m", 2}, {"n", 3}}, choices(key, {from}), choices(key, {to})};
  return preview_engines(std::span(&layer, 1)).comparisons.at(0);
}

TEST(EnginePreview, same_configuration_is_same_and_weighs_what_uses_it) {
  const EnginePreview::Comparison one = compare(configuration(3), configuration(3));
  EXPECT_EQ(one.change, EnginePreview::Change::kSame);
  EXPECT_EQ(one.nodes, 5);
  EXPECT_THAT(one.differences, IsEmpty());
}

TEST(EnginePreview, other_number_alone_is_unknown) {
  const EnginePreview::Comparison one = compare(configuration(3), configuration(4));
  EXPECT_EQ(one.change, EnginePreview::Change::kUnknown);
  EXPECT_THAT(one.differences,
              ElementsAre(Field(&EnginePreview::Comparison::Difference::what, "engine")));
}

TEST(EnginePreview, worst_difference_names_the_change) {
  results::EngineChoices::Configuration other = configuration(4);
  other.workspace = Bytes{256};
  EXPECT_EQ(compare(configuration(3), other).change, EnginePreview::Change::kResources);
  other.knobs["TILE_SIZE"] = 7;
  other.knobs["STAGES"] = 2;
  const EnginePreview::Comparison knobs = compare(configuration(3), other);
  EXPECT_EQ(knobs.change, EnginePreview::Change::kKnobs);
  EXPECT_EQ(knobs.differences[0].what, "STAGES");
  EXPECT_EQ(knobs.differences[0].from, "–");
  EXPECT_EQ(knobs.differences[1].from + knobs.differences[1].to, "57");
  other.numerical_notes = {"TENSOR_CORE"};
  EXPECT_EQ(compare(configuration(3), other).change, EnginePreview::Change::kNumerics);
}

TEST(EnginePreview, shared_memory_that_only_one_version_tells_is_no_difference) {
  results::EngineChoices::Configuration other = configuration(3);
  other.shared_memory = Bytes{4096};
  EXPECT_EQ(compare(configuration(3), other).change, EnginePreview::Change::kSame);
}

TEST(EnginePreview, first_plan_that_keeps_the_precision_is_the_choice) {
  const std::vector<results::EngineChoices::Configuration> ranked{
      configuration(1, {"TENSOR_CORE"}),
      configuration(2, {"DOWN_CONVERT_INPUTS"}),
      configuration(3, {"WINOGRAD"}),
      configuration(4)};
  const auto engine = [&](const std::string& type, const std::string& math) {
    std::string tail = kTail;
    tail.replace(tail.find("strict"), 6, math);
    const model::LayerKey key = key_of(type, tail);
    return results::chosen_engine(model::parse_key(key), choices(key, ranked).offers[0])->engine;
  };
  EXPECT_EQ(engine("f32", "strict"), 3);
  EXPECT_EQ(engine("f32", "tf32"), 1);
  EXPECT_EQ(engine("f16", "strict"), 1);
  std::vector<results::EngineChoices::Configuration> refused = ranked;
  refused[2].refusal = "no plan";
  const model::LayerKey key = key_of("f32");
  EXPECT_EQ(results::chosen_engine(model::parse_key(key), choices(key, refused).offers[0])->engine,
            4);
}

TEST(EnginePreview, fallback_counts_where_the_first_heuristic_has_nothing) {
  const model::LayerKey key = key_of("f32");
  results::EngineChoices::Offer offer = choices(key, {configuration(1, {"TENSOR_CORE"})}).offers[0];
  EXPECT_EQ(results::chosen_engine(model::parse_key(key), offer), nullptr);
  offer.rankings.push_back({"FALLBACK", {configuration(9)}, ""});
  EXPECT_EQ(results::chosen_engine(model::parse_key(key), offer)->engine, 9);
}

TEST(EnginePreview, support_is_lost_and_gained_with_the_librarys_words) {
  const model::LayerKey key = key_of("f16");
  results::EngineChoices none = choices(key, {});
  none.offers[0].rankings[0].refusal = "CUDNN_STATUS_NOT_SUPPORTED";
  const std::vector<EnginePreview::Layer> layers{
      {key, {}, none, choices(key, {configuration(1)})},
      {key, {}, choices(key, {configuration(1)}), none},
      {key, {}, none, none},
      {key,
       {},
       choices(key, {configuration(1)}),
       {key, {results::Outcome::Kind::kCrashed, "gone"}, {}}}};
  const EnginePreview preview = preview_engines(layers);
  std::vector<EnginePreview::Change> changes;
  std::vector<std::string> reasons;
  for (const EnginePreview::Comparison& one : preview.comparisons) {
    changes.push_back(one.change);
    reasons.push_back(one.reason);
  }
  EXPECT_THAT(changes,
              ElementsAre(EnginePreview::Change::kSupportLost,
                          EnginePreview::Change::kSupportLost,
                          EnginePreview::Change::kSupportGained,
                          EnginePreview::Change::kNoEngine));
  EXPECT_THAT(reasons, testing::Contains("gone"));
  EXPECT_THAT(reasons, testing::Contains("CUDNN_STATUS_NOT_SUPPORTED"));
}

TEST(EnginePreview, rank_in_the_old_version_tells_a_changed_order_from_a_new_kernel) {
  const model::LayerKey key = key_of("f16");
  results::EngineChoices::Configuration winner = configuration(7);
  winner.knobs["TILE_SIZE"] = 9;
  const EnginePreview::Layer reordered{
      key, {}, choices(key, {configuration(1), winner}), choices(key, {winner})};
  EXPECT_EQ(preview_engines(std::span(&reordered, 1)).comparisons[0].earlier_rank, 2U);
  const EnginePreview::Layer unheard_of{
      key, {}, choices(key, {configuration(1)}), choices(key, {winner})};
  EXPECT_EQ(preview_engines(std::span(&unheard_of, 1)).comparisons[0].earlier_rank, std::nullopt);
}

TEST(EnginePreview, what_cannot_be_asked_is_counted) {
  const model::LayerKey key{
      "v1:eltwise;in=f32[1,8];out=f32[1,8];acc=f32;math=strict;fn=relu;parameters=[]"};
  const results::EngineChoices refused{
      key, {results::Outcome::Kind::kUnsupported, "no device"}, {}};
  const EnginePreview::Layer layer{key, {{"m", 4}}, refused, refused};
  const std::vector<EnginePreview::Layer> layers{layer, layer};
  const EnginePreview preview = preview_engines(layers);
  EXPECT_THAT(preview.comparisons, IsEmpty());
  ASSERT_EQ(preview.not_covered.size(), 1U);
  EXPECT_EQ(preview.not_covered[0].op, "eltwise");
  EXPECT_EQ(preview.not_covered[0].keys, 2);
  EXPECT_EQ(preview.not_covered[0].nodes, 8);
}

TEST(EnginePreview, worst_comes_first_then_what_most_nodes_use) {
  const model::LayerKey key = key_of("f16");
  const model::LayerKey other = key_of("bf16");
  results::EngineChoices::Configuration tiled = configuration(1);
  tiled.knobs["TILE_SIZE"] = 9;
  const std::vector<EnginePreview::Layer> layers{
      {key, {{"m", 9}}, choices(key, {configuration(1)}), choices(key, {configuration(1)})},
      {key, {{"m", 1}}, choices(key, {configuration(1)}), choices(key, {tiled})},
      {other, {{"m", 5}}, choices(other, {configuration(1)}), choices(other, {tiled})}};
  std::vector<std::int64_t> nodes;
  for (const EnginePreview::Comparison& one : preview_engines(layers).comparisons) {
    nodes.push_back(one.nodes);
  }
  EXPECT_THAT(nodes, ElementsAre(5, 1, 9));
}

}  // namespace
}  // namespace plumb::analysis
