// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/results/labels/variant_id.hpp"

namespace plumb::results {
namespace {

TEST(DividedVariant, reads_what_it_writes) {
  const std::vector<VariantId::Parts> parts{{3, 4, "impl=jit:avx512_core;layout=any"},
                                            {1, 2, "impl=a"}};
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

TEST(DivisionRule, is_kept_as_facts_of_a_run) {
  Environment environment;
  EXPECT_FALSE(division_rule_of(environment).has_value());
  add_division_rule({{8 << 20}, VariantId::DivisionRule::Policy::kAll}, environment);
  EXPECT_EQ(division_rule_of(environment)->workspace_cap.value, 8 << 20);
  EXPECT_EQ(division_rule_of(environment)->policy, VariantId::DivisionRule::Policy::kAll);
  environment.facts.erase("measure.batch_policy");  // as in runs that could not choose one
  EXPECT_EQ(division_rule_of(environment)->policy, VariantId::DivisionRule::Policy::kPowersOfTwo);
  environment.facts["measure.workspace_cap_bytes"] = "8 MiB";
  EXPECT_FALSE(division_rule_of(environment).has_value());
}

TEST(DivisionRule, names_its_policies) {
  for (const VariantId::DivisionRule::Policy policy : kBatchPolicies) {
    EXPECT_EQ(parse_batch_policy(to_text(policy)), policy) << to_text(policy);
  }
  EXPECT_FALSE(parse_batch_policy("halves").has_value());
}

}  // namespace
}  // namespace plumb::results
