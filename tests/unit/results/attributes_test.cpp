// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/results_json.hpp"

namespace plumb::results {
namespace {

TEST(Attributes, a_reading_is_the_median_of_its_values_with_an_interval) {
  const std::vector<double> few{312.0, 309.0, 310.0};
  EXPECT_EQ(summarize_reading(few), (Reading{310.0, 309.0, 312.0, 3}));
  const std::vector<double> one{61.0};
  EXPECT_EQ(summarize_reading(one), (Reading{61.0, 61.0, 61.0, 1}));
  std::vector<double> many;
  for (int i = 1; i <= 100; ++i) {
    many.push_back(i);
  }
  const Reading reading = summarize_reading(many).value();
  EXPECT_DOUBLE_EQ(reading.median, 50.5);
  EXPECT_DOUBLE_EQ(reading.low, 40.0) << "Conover's table: ranks 40 and 61 of 100";
  EXPECT_DOUBLE_EQ(reading.high, 61.0);
}

TEST(Attributes, readings_of_several_blocks_are_weighed_by_their_values) {
  Readings sum{{"power_watts", {300.0, 290.0, 310.0, 1}}};
  add_readings(sum, {{"power_watts", {330.0, 295.0, 340.0, 2}}, {"energy_joules", {1, 1, 1, 1}}});
  EXPECT_EQ(sum.at("power_watts"), (Reading{320.0, 290.0, 340.0, 3}));
  EXPECT_EQ(sum.at("energy_joules"), (Reading{1, 1, 1, 1}));
}

TEST(Attributes, nothing_is_read_from_nothing) {
  EXPECT_FALSE(summarize_reading({}));
  const std::vector<double> bad{1.0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_FALSE(summarize_reading(bad));
}

TEST(Attributes, names_are_plain) {
  EXPECT_TRUE(is_attribute_name("tensor_cores.source"));
  for (const char* const name : {"", "a b", "a\n", "<b>", "ä"}) {
    EXPECT_FALSE(is_attribute_name(name)) << name;
  }
  EXPECT_FALSE(is_attribute_name(std::string(kMaxAttributeName + 1, 'a')));
}

TEST(Attributes, short_ones_leave_out_what_is_long) {
  const Attributes all{{"engine", "62"}, {"plan", std::string(300, 'x')}};
  EXPECT_EQ(short_attributes(all, 256), (Attributes{{"engine", "62"}}));
}

TEST(Attributes, json_from_outside_is_checked) {
  EXPECT_EQ(attributes_from_json(R"({"engine":"62"})"), (Attributes{{"engine", "62"}}));
  EXPECT_EQ(readings_from_json(R"({"watts":{"median":2,"low":1,"high":3,"n":4}})").at("watts"),
            (Reading{2.0, 1.0, 3.0, 4}));
  for (const char* const bad : {"[]", R"({"a b":"x"})", R"({"engine":62})"}) {
    EXPECT_THROW((void)attributes_from_json(bad), Error) << bad;
  }
  for (const char* const bad : {R"({"watts":1})", R"({"watts":{"median":1,"low":1,"high":1}})"}) {
    EXPECT_THROW((void)readings_from_json(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace plumb::results
