// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_instance.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace plumb::analysis
