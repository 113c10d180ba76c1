// SPDX-License-Identifier: Apache-2.0
#include "harness/results/division/divided_variant.hpp"

#include <gtest/gtest.h>

namespace plumb::results {
namespace {

TEST(DividedVariant, reads_what_it_writes) {
  const std::vector<BatchParts> parts{{3, 4, "impl=jit:avx512_core;layout=any"}, {1, 2, "impl=a"}};
  const std::string text = divided_variant(parts);
  EXPECT_EQ(text, "impl=plumb:micro_batch;parts=3*4[impl=jit:avx512_core;layout=any]+1*2[impl=a]");
  EXPECT_EQ(divided_parts(text), parts);
}

TEST(DividedVariant, is_absent_where_the_text_is_another) {
  for (const std::string text : {"",
                                 "impl=jit:avx512_core",
                                 "impl=plumb:micro_batch;parts=",
                                 "impl=plumb:micro_batch;parts=3*4",
                                 "impl=plumb:micro_batch;parts=0*4[a]",
                                 "impl=plumb:micro_batch;parts=3*-4[a]",
                                 "impl=plumb:micro_batch;parts=3*4[a",
                                 "impl=plumb:micro_batch;parts=3*4[a]+",
                                 "impl=plumb:micro_batch;parts=3*4[a]x",
                                 "impl=plumb:micro_batch;parts=99999999999999999999*4[a]"}) {
    EXPECT_FALSE(divided_parts(text).has_value()) << text;
  }
}

TEST(DividedVariant, keeps_the_cap_as_a_fact) {
  Environment environment;
  EXPECT_FALSE(workspace_cap_of(environment).has_value());
  add_workspace_cap({8 << 20}, environment);
  EXPECT_EQ(workspace_cap_of(environment)->value, 8 << 20);
  environment.facts["measure.workspace_cap_bytes"] = "8 MiB";
  EXPECT_FALSE(workspace_cap_of(environment).has_value());
}

}  // namespace
}  // namespace plumb::results
