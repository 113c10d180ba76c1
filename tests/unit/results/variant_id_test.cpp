// SPDX-License-Identifier: Apache-2.0
#include "harness/results/labels/variant_id.hpp"

#include <gtest/gtest.h>

namespace plumb::results {
namespace {

TEST(VariantId, has_the_fields_of_its_text) {
  const VariantId id("impl=brgconv:avx512_core;layout=any;algorithm=direct");
  EXPECT_EQ(id.implementation(), "brgconv:avx512_core");
  EXPECT_EQ(id.layout(), "any");
  EXPECT_EQ(id.field("algorithm"), "direct");
  EXPECT_EQ(id.field("algo"), "");
  EXPECT_EQ(id.field(""), "");
  EXPECT_FALSE(id.is_own());
  EXPECT_TRUE(VariantId("impl=plumb;layout=NHWC").is_own());
  EXPECT_FALSE(VariantId("impl=plumbing:avx2").is_own());
  EXPECT_TRUE(VariantId("impl=plumb;layout=NHWC").has_channels_last());
  EXPECT_TRUE(VariantId("impl=jit;layout=channels_last;algorithm=direct").has_channels_last());
  EXPECT_FALSE(id.has_channels_last()) << "any tells nothing";
  EXPECT_EQ(VariantId("").implementation(), "");
  EXPECT_EQ(VariantId("jit").implementation(), "");
}

TEST(VariantId, leaves_out_the_fields_of_parts) {
  const std::string text =
      divided_variant({{3, 4, "impl=jit;layout=nchw"}, {1, 2, "impl=brg;layout=nhwc"}});
  EXPECT_EQ(VariantId(text).implementation(), kDividedBatch);
  EXPECT_TRUE(VariantId(text).is_own());
  EXPECT_EQ(VariantId(text).layout(), "");
  EXPECT_EQ(VariantId("impl=a];layout=any").layout(), "any");
  EXPECT_EQ(VariantId("impl=a[;layout=any").layout(), "") << "the bracket stays open";
}

}  // namespace
}  // namespace plumb::results
