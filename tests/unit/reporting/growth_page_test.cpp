// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reporting/content/profile/profile_documents.hpp"
#include "tests/unit/analysis/layered_profile.hpp"

namespace plumb::reporting {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

analysis::RunMerger::DatedProfile dated(int day,
                                        results::NamedProfile profile,
                                        const std::string& subject) {
  results::StoredProfile kept = analysis::stored(std::move(profile), subject);
  kept.run = "run" + std::to_string(day);
  return {Timestamp(std::chrono::days(day)), "a", "1234", std::move(kept)};
}

std::string page_of(const std::vector<analysis::RunMerger::DatedProfile>& profiles) {
  std::ostringstream out;
  write_growth_page(analysis::find_function_growth(profiles), 30, out);
  return out.str();
}

TEST(GrowthPage, names_the_functions_that_certainly_grew) {
  const std::string page = page_of({dated(1, analysis::layered_profile(50, 0), "lenet|1|f32"),
                                    dated(2, analysis::layered_profile(50, 11), "lenet|1|f32")});
  EXPECT_THAT(page, AllOf(HasSubstr("lenet|1|f32, mode fusion"), HasSubstr("jit:reorder")));
  EXPECT_THAT(page, AllOf(HasSubstr("1970-01-02"), HasSubstr("1970-01-03")));
  EXPECT_THAT(page, AllOf(HasSubstr("href=\"/runs/run1\""), HasSubstr("href=\"/runs/run2\"")));
  EXPECT_THAT(page, HasSubstr("in 30 days"));
}

TEST(GrowthPage, lists_the_instructions_of_functions_that_grew) {
  results::NamedProfile last = analysis::layered_profile(50, 11);
  for (const char* const name : {"jit:reorder", "eltwise"}) {
    results::NamedProfile::Listing listing;
    listing.function = {name, "generated"};
    listing.samples = 440;
    listing.bytes = 6;
    listing.instructions = {{2, 4, std::string("<u>") + name, 440}};
    last.listings.push_back(listing);
  }
  const std::string page = page_of(
      {dated(1, analysis::layered_profile(50, 0), "lenet|1|f32"), dated(2, last, "lenet|1|f32")});
  EXPECT_THAT(page, HasSubstr("In the last run: jit:reorder, generated: 440 samples"));
  EXPECT_THAT(page, HasSubstr("<code>&lt;u&gt;jit:reorder</code>"));
  EXPECT_THAT(page, HasSubstr("approximate"));
  EXPECT_THAT(page, Not(HasSubstr("In the last run: eltwise"))) << "it takes as long as before";
}

TEST(GrowthPage, says_that_nothing_certainly_changed) {
  const std::string page = page_of({dated(1, analysis::layered_profile(50, 0), "lenet|1|f32"),
                                    dated(2, analysis::layered_profile(50, 0), "lenet|1|f32")});
  EXPECT_THAT(page, HasSubstr("No function certainly changed."));
  EXPECT_THAT(page, Not(HasSubstr("most in step")));
}

TEST(GrowthPage, says_why_no_functions_are_named) {
  const results::NamedProfile few = analysis::equal_blocks(40, {{"kernel", 1}}).build();
  const std::string page = page_of({dated(1, few, "few"), dated(2, few, "few")});
  EXPECT_THAT(page, HasSubstr("samples"));
  EXPECT_THAT(page, HasSubstr("–")) << "a time that is unknown is no zero";
  EXPECT_THAT(page, Not(HasSubstr("most in step")));
}

TEST(GrowthPage, says_that_there_is_nothing_to_compare) {
  EXPECT_THAT(page_of({dated(1, analysis::layered_profile(50, 0), "lenet|1|f32")}),
              HasSubstr("No model was profiled twice in this time."));
}

TEST(GrowthPage, shows_hostile_names_as_text) {
  const auto profile = [](std::uint32_t samples) {
    results::NamedProfile named =
        analysis::equal_blocks(20, {{"kernel", 50}, {"<script>evil", samples}}).build();
    named.mode = "<b>mode";
    named.stack = "<i>stack";
    return named;
  };
  const std::string page =
      page_of({dated(1, profile(10), "<u>&model"), dated(2, profile(90), "<u>&model")});
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;evil"));
  for (const char* const raw : {"<script>", "<u>", "<b>mode", "<i>stack"}) {
    EXPECT_THAT(page, Not(HasSubstr(raw)));
  }
}

TEST(GrowthPage, counts_the_models_that_it_leaves_out) {
  std::vector<analysis::RunMerger::DatedProfile> profiles;
  for (int i = 0; i < 103; ++i) {
    for (const int day : {1, 2}) {
      profiles.push_back(
          dated(day, analysis::layered_profile(50, 0), "model" + std::to_string(1000 + i)));
    }
  }
  EXPECT_THAT(page_of(profiles), HasSubstr("and 3 others"));
}

}  // namespace
}  // namespace plumb::reporting
