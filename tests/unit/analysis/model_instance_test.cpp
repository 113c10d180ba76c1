// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/analysis/bounds/model_bounds.hpp"

namespace plumb::analysis {
namespace {

TEST(ModelInstance, is_written_with_all_its_axes) {
  const ModelInstance bert{"bert-base", 8, "bf16", {{"sequence", 384}, {"layers", 2}}};
  EXPECT_EQ(to_text(bert, ", "), "bert-base, batch 8, bf16, layers 2, sequence 384");
  EXPECT_EQ(subject_of(bert), "bert-base|8|bf16|layers=2|sequence=384");
  const ModelInstance lenet{"lenet"};
  EXPECT_EQ(to_text(lenet, "  "), "lenet  batch 1  f32");
  EXPECT_EQ(subject_of(lenet), "lenet|1|f32");
}

TEST(ModelInstance, differs_from_one_of_another_size) {
  const ModelInstance one{"bert-base", 1, "f32", {{"sequence", 128}}};
  const ModelInstance other{"bert-base", 1, "f32", {{"sequence", 384}}};
  EXPECT_NE(one, other);
  EXPECT_NE(subject_of(one), subject_of(other));
}

TEST(ModelInstance, of_training_is_another_than_that_of_inference) {
  const ModelInstance trained{.model = "lenet", .dims = {{"image", 28}}, .training = "adamw"};
  EXPECT_EQ(to_text(trained, ", "), "lenet, batch 1, f32, image 28, training by adamw");
  EXPECT_EQ(subject_of(trained), "lenet|1|f32|image=28|training=adamw");
  EXPECT_EQ(full_name(trained), "lenet (training by adamw)");
  EXPECT_EQ(full_name({"lenet"}), "lenet");
}

TEST(ModelInstance, with_frozen_weights_is_another_than_one_without) {
  const ModelInstance whole{.model = "lenet", .training = "sgd:2"};
  const ModelInstance frozen{.model = "lenet", .training = "sgd:2+freeze=batch_norm"};
  EXPECT_NE(frozen, whole);
  EXPECT_EQ(subject_of(frozen), "lenet|1|f32|training=sgd:2+freeze=batch_norm");
  EXPECT_EQ(to_text(frozen, ", "), "lenet, batch 1, f32, training by sgd:2+freeze=batch_norm");
  EXPECT_EQ(samples_of_step(frozen), 2);
  EXPECT_EQ(step_note(whole), "");
  EXPECT_EQ(step_note({.model = "lenet", .training = "sgd+mean_squared_error+freeze=a+freeze=b"}),
            "Loss: mean_squared_error, as asked for. Frozen, without gradients and updates: a, b.");
}

TEST(ModelInstance, is_parsed_from_its_subject) {
  for (const ModelInstance& each :
       {ModelInstance{"lenet"},
        ModelInstance{.model = "lenet", .training = "sgd"},
        ModelInstance{.model = "lenet", .training = "sgd:4+cross_entropy+freeze=a/b.c-1*"},
        ModelInstance{.model = "lenet|1|f32|training=sgd", .dims = {{"n", 2}}, .training = "adam"},
        ModelInstance{"bert-base", 8, "bf16", {{"sequence", 384}, {"layers", 2}}},
        ModelInstance{"a|b|1", 2, "f32", {{"input ids.1", 8}}}}) {
    const auto parsed = parse_subject(subject_of(each));
    ASSERT_TRUE(parsed) << subject_of(each);
    EXPECT_EQ(*parsed, each);
  }
  for (const char* const text : {"", "lenet", "lenet|1", "|1|f32", "lenet|x|f32", "a|1|f32|n=x"}) {
    EXPECT_FALSE(parse_subject(text)) << text;
  }
}

}  // namespace
}  // namespace plumb::analysis
