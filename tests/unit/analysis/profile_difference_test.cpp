// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/profile_difference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "harness/analysis/profile/profile_json.hpp"
#include "harness/base/error.hpp"
#include "tests/unit/analysis/profile_builder.hpp"

namespace plumb::analysis {
namespace {

using testing::HasSubstr;

/// Adds blocks of five executions, with samples that scatter a little.
ProfileBuilder scattered_blocks(
    double seconds, const std::vector<std::pair<std::string, std::uint32_t>>& functions) {
  ProfileBuilder builder;
  for (std::uint32_t i = 0; i < 30; ++i) {
    builder.block(seconds * (1.0 + 0.001 * (i % 3)));
    for (const auto& [name, count] : functions) {
      builder.samples("conv", {name, "generated"}, count + (i + count) % 2);
    }
  }
  return builder;
}

TEST(ProfileDifference, names_the_function_that_the_baseline_did_not_execute) {
  const results::NamedProfile baseline =
      scattered_blocks(0.05, {{"kernel", 40}, {"other", 10}}).build();
  const results::NamedProfile candidate =
      scattered_blocks(0.06, {{"kernel", 40}, {"other", 10}, {"reorder", 10}}).build();
  const ProfileDifference difference = compute_profile_difference(baseline, candidate);
  EXPECT_NEAR(difference.change().count(), 0.002, 1e-4);
  ASSERT_EQ(difference.functions.size(), 3U);
  const ProfileDifference::Function& first = difference.functions.front();
  EXPECT_EQ(first.function.name, "reorder");
  EXPECT_FALSE(first.in_baseline);
  EXPECT_TRUE(first.in_candidate);
  EXPECT_TRUE(first.is_certain());
  EXPECT_EQ(first.step, "conv");
  EXPECT_NEAR(first.change().count(), 0.002, 2e-4);
  EXPECT_LT(std::abs(difference.unexplained().count()), 4e-4);
  ASSERT_TRUE(difference.interval);
  EXPECT_GT(difference.interval->low, 0.001);
}

TEST(ProfileDifference, kernels_are_equal_up_to_the_number_that_a_library_adds) {
  const results::NamedProfile baseline =
      scattered_blocks(0.05, {{"jit_kernel", 40}, {"v1.2", 10}, {".7", 10}}).build();
  const results::NamedProfile candidate =
      scattered_blocks(0.05,
                       {{"jit_kernel.19", 20}, {"jit_kernel.3", 20}, {"v1.2", 10}, {".7", 10}})
          .build();
  const ProfileDifference difference = compute_profile_difference(baseline, candidate);
  ASSERT_EQ(difference.functions.size(), 3U);
  for (const ProfileDifference::Function& change : difference.functions) {
    EXPECT_TRUE(change.in_baseline && change.in_candidate) << change.function.name;
    EXPECT_FALSE(change.is_certain()) << change.function.name;
  }
}

TEST(ProfileDifference, of_a_profile_with_itself_is_nothing) {
  const results::NamedProfile profile =
      scattered_blocks(0.05, {{"kernel", 40}, {"other", 10}}).build();
  const ProfileDifference difference = compute_profile_difference(profile, profile);
  EXPECT_EQ(difference.change(), Seconds(0.0));
  EXPECT_EQ(difference.unexplained(), Seconds(0.0));
  for (const ProfileDifference::Function& change : difference.functions) {
    EXPECT_EQ(change.change(), Seconds(0.0));
    EXPECT_FALSE(change.is_certain());
  }
}

TEST(ProfileDifference, a_library_is_the_same_in_another_version) {
  const auto with_image = [](const std::string& image) {
    ProfileBuilder builder;
    for (int i = 0; i < 10; ++i) {
      builder.block().samples("conv", {"kernel", image}, 10);
    }
    return builder.build();
  };
  const auto difference =
      compute_profile_difference(with_image("libdnnl.so.3.2"), with_image("libdnnl.so.3.4"));
  ASSERT_EQ(difference.functions.size(), 1U);
  EXPECT_TRUE(difference.functions[0].in_baseline && difference.functions[0].in_candidate);
}

TEST(ProfileDifference, names_the_step_where_the_function_changed) {
  const auto profile = [](std::uint32_t in_second) {
    ProfileBuilder builder;
    for (int i = 0; i < 10; ++i) {
      builder.block(0.05 + 0.001 * in_second)
          .samples("first", {"kernel", "generated"}, 50)
          .samples("second", {"kernel", "generated"}, in_second);
    }
    return builder.build();
  };
  EXPECT_EQ(compute_profile_difference(profile(5), profile(50)).functions[0].step, "second");
  EXPECT_EQ(compute_profile_difference(profile(50), profile(5)).functions[0].step, "second");
}

TEST(ProfileDifference, without_blocks_enough_there_are_no_intervals) {
  const results::NamedProfile few = equal_blocks(3, {{"f", 10}}).build();
  const ProfileDifference difference = compute_profile_difference(few, few);
  EXPECT_FALSE(difference.interval);
  EXPECT_FALSE(difference.functions[0].is_certain());
}

TEST(ProfileDifference, of_different_models_is_refused) {
  try {
    static_cast<void>(compute_profile_difference(equal_blocks(6, {{"f", 1}}).build("lenet"),
                                                 equal_blocks(6, {{"f", 1}}).build("vgg16")));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kRefused);
    EXPECT_THAT(error.what(), HasSubstr("vgg16"));
  }
}

TEST(ProfileJson, a_profile_comes_back_as_it_was) {
  results::NamedProfile profile = ProfileBuilder()
                                      .block(0.04, 3)
                                      .samples("conv", {"f", "lib.so"}, 3)
                                      .samples("", {"", "libc.so.6"}, 1)
                                      .block()
                                      .samples("conv", {"f", "lib.so"}, 2)
                                      .build();
  profile.steps[0] = {{1, 2}, "v1:conv", "default", true};
  profile.refused = "cycles: none";
  profile.lost = 7;
  profile.problems = {"'x' has changed"};
  const std::string text = document_text(profile_document(profile));
  const results::NamedProfile copy = profile_from_json(text);
  EXPECT_EQ(document_text(profile_document(copy)), text);
  EXPECT_EQ(copy.steps[0].layers, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(copy.cells.back().step, results::kNoStep);
  EXPECT_EQ(copy.lost, 7U);
}

TEST(ProfileJson, what_does_not_fit_is_an_error_of_the_user) {
  const results::NamedProfile profile = equal_blocks(2, {{"f", 3}}).build();
  const auto refused = [&](const std::function<void(Json&)>& change) {
    Json document = profile_document(profile);
    change(document);
    try {
      static_cast<void>(profile_from_json(document.dump()));
      ADD_FAILURE() << document.dump();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what();
    }
  };
  refused([](Json& document) { document["clock"] = "sundial"; });
  refused([](Json& document) { document.erase("model"); });
  refused([](Json& document) { document["cells"][0]["step"] = 1; });
  refused([](Json& document) { document["cells"][0]["function"] = 1; });
  refused([](Json& document) { document["cells"][0]["counts"][0][0] = 2; });
  refused([](Json& document) { document["cells"][0]["counts"][0] = {0}; });
  refused([](Json& document) { document["cells"][0]["counts"][1][0] = 0; });
  refused([](Json& document) { document["cells"][0]["counts"][0][1] = -1; });
  refused([](Json& document) { document["blocks"][0]["unsampled_seconds"] = -1; });
  refused([](Json& document) { document["steps"][0]["layers"] = {"x"}; });
  refused([](Json& document) { document = Json::array(); });
}

TEST(ProfileJson, a_difference_has_every_function_and_the_rest) {
  const results::NamedProfile profile = equal_blocks(6, {{"f", 3}}).build();
  const Json document =
      profile_difference_document(profile, profile, compute_profile_difference(profile, profile));
  EXPECT_EQ(document["functions"].size(), 1U);
  EXPECT_EQ(document["functions"][0]["name"], "f");
  EXPECT_EQ(document["unexplained_seconds"], 0.0);
  EXPECT_EQ(document["functions"][0]["certain"], false);
}

}  // namespace
}  // namespace plumb::analysis
