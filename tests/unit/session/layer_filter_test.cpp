// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/session/work/work_items.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::session {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

const std::vector<results::CacheMode> kHot{results::CacheMode::kNone};

/// A convolution and its activation, which a rule fuses, and a product after them.
PlannedModel small_model() {
  rewrite::GraphSketch sketch;
  const model::ValueId conv = sketch.conv(sketch.input({1, 8, 4, 4}), 8, 3);
  const model::ValueId relu = sketch.relu(conv);
  const model::ValueId product = sketch.matmul(relu, 16);
  PlannedModel model;
  model.graph = sketch.build({product});
  model::Layer& first = model.graph.layers[0];
  first.name = "stem/conv";
  first.onnx_op = "Conv";
  model.graph.layers[1].name = "stem/relu";
  model.graph.layers[1].onnx_op = "Relu";
  model.graph.layers[2].name = "head";
  model.graph.layers[2].onnx_op = "MatMul";
  return model;
}

std::vector<std::string> selected_keys(const suite::ResolvedSuite::Selection& selection) {
  const PlannedModel model = small_model();
  std::vector<std::string> keys;
  for (const WorkSource::Item& item :
       work_items({&model, 1}, {}, kHot, WorkSource::Shard{}, selection)) {
    keys.push_back(item.key.text);
  }
  return keys;
}

std::string error_of(const suite::ResolvedSuite::Selection& selection) {
  const PlannedModel model = small_model();
  suite::ResolvedSuite suite;
  suite.selection = selection;
  try {
    (void)selected_layers({&model, 1}, suite);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "";
}

TEST(LayerFilter, keeps_everything_without_patterns) {
  EXPECT_THAT(selected_keys({}), SizeIs(4)) << "three layers and a fused form";
}

TEST(LayerFilter, compares_the_operator_the_name_and_the_key) {
  for (const char* const pattern : {"Conv*", "conv", "CONV", "stem/conv", "*/conv", "v1:conv;*"}) {
    const std::vector<std::string> keys = selected_keys({.wanted = {pattern}});
    EXPECT_THAT(keys, Each(StartsWith("v1:conv;"))) << pattern;
    EXPECT_THAT(keys, Not(IsEmpty())) << pattern;
  }
  EXPECT_THAT(selected_keys({.wanted = {"Stem/*"}}), SizeIs(0)) << "names keep their capitals";
  EXPECT_THAT(selected_keys({.wanted = {"head", "Relu"}}), SizeIs(2));
}

TEST(LayerFilter, keeps_a_fused_form_with_all_its_layers_or_by_its_key) {
  EXPECT_THAT(selected_keys({.wanted = {"stem/*"}}), SizeIs(3)) << "both layers, and fused";
  EXPECT_THAT(selected_keys({.wanted = {"Relu"}}), SizeIs(1));
  const std::vector<std::string> all = selected_keys({});
  const std::vector<std::string> by_name = selected_keys({.wanted = {"Conv", "Relu", "MatMul"}});
  EXPECT_EQ(all, by_name);
  const std::vector<std::string> plain = selected_keys({.wanted = {"stem/conv"}});
  const auto fused = std::find_if(all.begin(), all.end(), [&](const std::string& key) {
    return key.starts_with("v1:conv;") && !std::count(plain.begin(), plain.end(), key);
  });
  ASSERT_NE(fused, all.end());
  EXPECT_EQ(selected_keys({.wanted = {*fused}}), std::vector{*fused});
  EXPECT_EQ(error_of({.wanted = {*fused}}), "");
}

TEST(LayerFilter, excludes_layers_and_the_forms_that_hold_them) {
  const std::vector<std::string> keys = selected_keys({.excluded = {"Relu"}});
  EXPECT_THAT(keys, SizeIs(2));
  EXPECT_THAT(selected_keys({.wanted = {"stem/*"}, .excluded = {"Conv"}}), SizeIs(1));
}

TEST(LayerFilter, compares_the_keys_that_a_suite_lists) {
  const std::string key = "v1:matmul;in=f32[64,32],f32[32,16]c;out=f32[64,16];acc=f32;math=strict";
  const std::vector<model::ListedLayer> layers{{.key = {key}, .count = 1, .file = ""}};
  EXPECT_THAT(work_items({}, layers, kHot, WorkSource::Shard{}, {.wanted = {"MatMul"}}), SizeIs(1));
  EXPECT_THAT(work_items({}, layers, kHot, WorkSource::Shard{}, {.wanted = {"Conv*"}}), SizeIs(0));
  EXPECT_THAT(
      work_items({}, layers, kHot, WorkSource::Shard{}, {.excluded = {"*f32[[]64*", "mat*"}}),
      SizeIs(0));
}

TEST(LayerFilter, refuses_a_pattern_that_matches_nothing_and_an_empty_rest) {
  EXPECT_THAT(error_of({.wanted = {"Conv", "Gemn*"}}),
              AllOf(HasSubstr("'--layer Gemn*'"), HasSubstr("conv, eltwise, matmul")));
  EXPECT_THAT(error_of({.excluded = {"*"}}), HasSubstr("'--exclude *' leaves no layer"));
  EXPECT_EQ(error_of({.wanted = {"Conv"}, .excluded = {"NothingLikeThis"}}), "");
  const PlannedModel model = small_model();
  suite::ResolvedSuite suite;
  suite.selection.wanted = {"MatMul"};
  const WorkSource::Counts counts = selected_layers({&model, 1}, suite);
  EXPECT_EQ(counts.selected, 1U);
  EXPECT_EQ(counts.all, 4U);
}

}  // namespace
}  // namespace plumb::session
