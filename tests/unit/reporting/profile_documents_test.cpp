// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/profile/profile_documents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reporting/content/profile/profile_files.hpp"
#include "tests/unit/analysis/profile_builder.hpp"

namespace plumb::reporting {
namespace {

using analysis::ProfileBuilder;
using testing::HasSubstr;
using testing::Not;

/// Returns a profile of ten blocks, one of whose names would break XML and a folded stack.
results::NamedProfile sample_profile() {
  ProfileBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.block()
        .samples("conv1", {"jit_kernel", "generated"}, 30)
        .samples("conv1", {"copy<a>&;\n", "libdnnl.so.3"}, 10)
        .samples("pool1", {"", "libgomp.so.1"}, 10);
  }
  return builder.build();
}

std::string text_of(const results::NamedProfile& profile, Detail detail) {
  std::ostringstream out;
  write_profile(profile, OutputMode::kText, out, detail);
  return out.str();
}

TEST(ProfileDocuments, lead_with_what_is_known_about_the_profile) {
  const std::string text = text_of(sample_profile(), Detail::kShort);
  EXPECT_THAT(text, HasSubstr("lenet, batch 1, mode fusion, on default\n  execution  10.000 ms"));
  EXPECT_THAT(text, HasSubstr("500 of 50 executions by cpu-clock, 990 a second where 1000 were"));
  EXPECT_THAT(text, HasSubstr("assigned   100.0 % to a step, 80.0 % to a function"));
  EXPECT_THAT(text, HasSubstr("cost       +0.0 % of the time (+0.0 % to +0.0 %), in 10 pairs"));
  EXPECT_THAT(text, HasSubstr("60.0 %"));
  EXPECT_THAT(text, HasSubstr("[libgomp.so.1]"));
  EXPECT_THAT(text, Not(HasSubstr("lost")));
}

TEST(ProfileDocuments, are_short_unless_all_is_asked_for) {
  ProfileBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.block();
    for (int f = 0; f < 13; ++f) {
      builder.samples("conv", {"function" + std::to_string(f), "a.so"}, 20);
    }
  }
  EXPECT_THAT(text_of(builder.build(), Detail::kShort), HasSubstr("3 more with --all"));
  const std::string all = text_of(builder.build(), Detail::kAll);
  EXPECT_THAT(all, Not(HasSubstr("more with --all")));
  EXPECT_THAT(all, HasSubstr("function12"));
}

TEST(ProfileDocuments, a_difference_names_functions_and_the_rest) {
  const auto profile = [](bool reorder) {
    ProfileBuilder builder;
    for (int i = 0; i < 10; ++i) {
      builder.block(reorder ? 0.06 : 0.05).samples("conv1", {"jit_kernel", "generated"}, 50);
      if (reorder) {
        builder.samples("conv1", {"jit_reorder", "generated"}, 10);
      }
    }
    return builder.build();
  };
  const results::NamedProfile baseline = profile(false);
  const results::NamedProfile candidate = profile(true);
  std::ostringstream out;
  write_profile_difference(baseline,
                           candidate,
                           analysis::compute_profile_difference(baseline, candidate),
                           OutputMode::kText,
                           out,
                           Detail::kShort);
  EXPECT_THAT(out.str(), HasSubstr("change     +2.000 ms"));
  EXPECT_THAT(out.str(), HasSubstr("jit_reorder  conv1         not in the baseline"));
  EXPECT_THAT(out.str(), HasSubstr("all but +"));
}

TEST(ProfileFiles, folded_stacks_have_three_parts_and_a_count) {
  std::ostringstream out;
  write_folded_stacks(sample_profile(), out);
  EXPECT_THAT(out.str(), HasSubstr("lenet, batch 1;conv1;jit_kernel 300\n"));
  EXPECT_THAT(out.str(), HasSubstr("lenet, batch 1;conv1;copy<a>&,? 100\n"));
  EXPECT_THAT(out.str(), HasSubstr("lenet, batch 1;pool1;[libgomp.so.1] 100\n"));
}

TEST(ProfileFiles, a_flame_graph_escapes_names_and_is_as_wide_as_its_shares) {
  std::ostringstream out;
  write_flame_graph(sample_profile(), out);
  EXPECT_THAT(out.str(), HasSubstr("<title>copy&lt;a&gt;&amp;"));
  EXPECT_THAT(out.str(), Not(HasSubstr("copy<a>")));
  EXPECT_THAT(out.str(), HasSubstr("jit_kernel: 300 samples, 60.00 %"));
  EXPECT_THAT(out.str(), HasSubstr(R"(<rect x="0.00" y="40" width="720.00")"));
}

TEST(ProfileFiles, a_flame_graph_without_samples_is_an_empty_picture) {
  std::ostringstream out;
  write_flame_graph(ProfileBuilder().build(), out);
  EXPECT_THAT(out.str(), HasSubstr("</svg>"));
  EXPECT_THAT(out.str(), Not(HasSubstr("<rect")));
}

}  // namespace
}  // namespace plumb::reporting
