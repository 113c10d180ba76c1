// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/results/labels/run_labels.hpp"

namespace plumb::results {
namespace {

TEST(RunMarks, make_another_environment) {
  Environment environment;
  environment.identity["method"] = "5";
  const std::string id = environment.id();
  EXPECT_FALSE(has_mark(environment, kSampledMark));
  add_mark(kSampledMark, environment);
  EXPECT_EQ(environment.identity.at("method"), "5 sampled");
  EXPECT_TRUE(has_mark(environment, kSampledMark));
  EXPECT_FALSE(has_mark(environment, kPairedMark));
  EXPECT_NE(environment.id(), id);
  EXPECT_EQ(without_mark(environment, kSampledMark).id(), id);
  EXPECT_EQ(without_mark(environment, kPairedMark).id(), environment.id());
}

TEST(RunMarks, are_absent_where_no_method_is_known) {
  EXPECT_FALSE(has_mark({}, kPairedMark));
  EXPECT_TRUE(without_mark({}, kPairedMark).identity.empty());
}

}  // namespace
}  // namespace plumb::results
