// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const model::LayerKey kKey{
    "v1:eltwise;in=f32[8];out=f32[8];acc=f32;math=strict;fn=relu;"
    "parameters=[]"};

/// Fourteen variants, each slower than the one before. The library takes the twelfth, and the last
/// two computed something else.
std::vector<results::Measurement> rows() {
  std::vector<results::Measurement> made;
  for (int i = 1; i <= 14; ++i) {
    results::Measurement row;
    row.key = kKey;
    row.variant = fmt::format("impl=number{:02}", i);
    row.purpose = results::Purpose::kFull;
    row.attributes = {{"engine", fmt::format("e{:02}", i)}};
    row.library_choice = i == 12;
    row.samples = {Seconds(1e-6 * i), Seconds(1e-6 * i)};
    row.summary = measure::summarize(row.samples);
    if (i > 12) {
      row.outcome = {results::Outcome::Kind::kWrongResult, "far off"};
    }
    made.push_back(row);
  }
  return made;
}

std::string text(bool all) {
  std::ostringstream out;
  write_layer(kKey, rows(), {}, OutputMode::kText, all, out);
  return out.str();
}

TEST(LayerDocuments, the_first_variants_and_the_librarys_choice_are_shown) {
  const std::string shown = text(false);
  EXPECT_THAT(shown, HasSubstr("impl=number10"));
  EXPECT_THAT(shown, Not(HasSubstr("impl=number11")));
  EXPECT_THAT(shown, HasSubstr("impl=number12"));
  EXPECT_THAT(shown, HasSubstr("impl=number01: engine e01\nimpl=number12: engine e12\n"));
  EXPECT_THAT(shown, Not(HasSubstr("engine e02")));
  EXPECT_THAT(shown, HasSubstr("3 more variants, 2 of them without a time: plumb layer --all\n"));
}

TEST(LayerDocuments, all_has_every_variant_and_what_is_known_of_it) {
  const std::string shown = text(true);
  for (int i = 1; i <= 14; ++i) {
    EXPECT_THAT(shown, HasSubstr(fmt::format("\nimpl=number{:02}: engine e{:02}\n", i, i)));
  }
  EXPECT_THAT(shown, HasSubstr("far off"));
  EXPECT_THAT(shown, Not(HasSubstr("more variants")));
}

}  // namespace
}  // namespace plumb::reporting
