// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/bounds/model_bounds.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

results::Controls controls(double product, double copy = 1.0) {
  return {Seconds(1e-7), Seconds(product), Seconds(copy)};
}

TEST(HostAgreement, one_host_agrees_with_itself) {
  EXPECT_THAT(host_disagreement({}, {}), IsEmpty());
  EXPECT_THAT(host_disagreement({"a"}, {}), IsEmpty());
}

TEST(HostAgreement, holds_within_the_limits) {
  EXPECT_THAT(host_disagreement({"a", "b"}, {{"a", controls(1.0)}, {"b", controls(1.0199)}}),
              IsEmpty());
  EXPECT_THAT(
      host_disagreement({"a", "b"}, {{"a", controls(1.0, 1.0)}, {"b", controls(1.0, 1.039)}}),
      IsEmpty());
}

TEST(HostAgreement, names_the_hosts_and_how_far_they_differ) {
  const std::string why = host_disagreement(
      {"a", "b", "c"}, {{"a", controls(1.0)}, {"b", controls(1.03)}, {"c", controls(0.99)}});
  EXPECT_THAT(why, HasSubstr("a, b, c"));
  EXPECT_THAT(why, HasSubstr("4.0 %"));
  EXPECT_THAT(
      host_disagreement({"a", "b"}, {{"a", controls(1.0, 1.0)}, {"b", controls(1.0, 1.05)}}),
      HasSubstr("the copy by 5.0 %"));
}

TEST(HostAgreement, needs_the_controls_of_each_host) {
  EXPECT_THAT(host_disagreement({"a", "b"}, {{"a", controls(1.0)}, {"b", std::nullopt}}),
              HasSubstr("b measured no controls"));
  EXPECT_THAT(host_disagreement({"a", "b"}, {{"a", controls(1.0)}}),
              HasSubstr("b measured no controls"));
}

TEST(HostAgreement, makes_bounds_incomplete_and_says_why) {
  ModelBounds model;
  Bound& bound = model.bounds.emplace_back();
  bound.complete = true;
  require_like_hosts({"a", "b"}, {{"a", controls(1.0)}, {"b", controls(1.0)}}, model);
  EXPECT_TRUE(bound.complete);
  require_like_hosts({"a", "b"}, {{"a", controls(1.0)}, {"b", controls(2.0)}}, model);
  EXPECT_FALSE(bound.complete);
  EXPECT_THAT(bound.lacks, ElementsAre(HasSubstr("a, b")));
  EXPECT_THAT(model.findings, ElementsAre(HasSubstr("incomplete")));
}

}  // namespace
}  // namespace plumb::analysis
