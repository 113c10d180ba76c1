// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {
namespace {

constexpr const char* kSum =
    "v1:conv;in=f32[4,3,8,8],f32[4,3,3,3]c,f32[4]c,f32[4,4,6,6];out=f32[4,4,6,6];acc=f32;math="
    "strict;"
    "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1];epilogue=add@3,relu";

TEST(LayerBatch, changes_images_and_keeps_weights) {
  const LayerSpec spec = parse_key({kSum});
  EXPECT_EQ(find_batch(spec), 4);
  EXPECT_EQ(to_key(with_batch(spec, 2)).text,
            "v1:conv;in=f32[2,3,8,8],f32[4,3,3,3]c,f32[4]c,f32[2,4,6,6];out=f32[2,4,6,6];acc=f32;"
            "math=strict;dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1];epilogue=add@3,relu");
  EXPECT_EQ(to_key(with_batch(with_batch(spec, 1), 4)).text, kSum);
}

TEST(LayerBatch, does_not_take_weights_that_are_trained_for_images) {
  const LayerSpec spec = parse_key(
      {"v1:conv;in=f32[8,1,9,9],f32[8,1,3,3];out=f32[8,8,7,7];acc=f32;math=strict;dilations=[1,1];"
       "group=1;pads=[0,0,0,0];strides=[1,1]"});
  EXPECT_EQ(to_key(with_batch(spec, 1)).text,
            "v1:conv;in=f32[1,1,9,9],f32[8,1,3,3];out=f32[1,8,7,7];acc=f32;math=strict;"
            "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]");
  EXPECT_TRUE(part_additions(spec).empty());
}

TEST(LayerBatch, divides_gradients_of_images) {
  const LayerSpec spec = parse_key(
      {"v1:conv_backward_data;in=f32[8,8,7,7],f32[8,2,3,3];out=f32[8,2,9,9];acc=f32;math=strict;"
       "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]"});
  EXPECT_EQ(to_key(with_batch(spec, 2)).text,
            "v1:conv_backward_data;in=f32[2,8,7,7],f32[8,2,3,3];out=f32[2,2,9,9];acc=f32;"
            "math=strict;dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]");
  EXPECT_TRUE(part_additions(spec).empty());
}

TEST(LayerBatch, adds_up_gradients_of_weights) {
  const LayerSpec spec = parse_key(
      {"v1:conv_backward_weights;in=f32[8,8,7,7],f32[8,2,9,9];out=f32[8,2,3,3],f32[8];acc=f32;"
       "math=strict;dilations=[1,1];group=1;outputs=wb;pads=[0,0,0,0];strides=[1,1]"});
  EXPECT_EQ(find_batch(spec), 8);
  EXPECT_EQ(to_key(with_batch(spec, 2)).text,
            "v1:conv_backward_weights;in=f32[2,8,7,7],f32[2,2,9,9];out=f32[8,2,3,3],f32[8];acc=f32;"
            "math=strict;dilations=[1,1];group=1;outputs=wb;pads=[0,0,0,0];strides=[1,1]");
  const std::vector<LayerKey> additions = part_additions(spec);
  ASSERT_EQ(additions.size(), 2U);
  EXPECT_EQ(additions[0].text,
            "v1:binary;in=f32[8,2,3,3],f32[8,2,3,3];out=f32[8,2,3,3];acc=f32;math=strict;fn=add");
  EXPECT_EQ(additions[1].text, "v1:binary;in=f32[8],f32[8];out=f32[8];acc=f32;math=strict;fn=add");
}

TEST(LayerBatch, is_absent_for_other_layers) {
  EXPECT_FALSE(
      find_batch(
          parse_key(
              {"v1:eltwise;in=f32[4,3];out=f32[4,3];acc=f32;math=strict;fn=relu;parameters=[]"}))
          .has_value());
}

}  // namespace
}  // namespace plumb::model
