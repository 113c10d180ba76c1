// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reporting/content/stack/stack_documents.hpp"

namespace plumb::reporting {
namespace {

using testing::HasSubstr;
using testing::Not;

analysis::KeyTime time_of(const std::string& variant, double microseconds) {
  const Seconds time(microseconds * 1e-6);
  analysis::KeyTime made;
  made.variant = variant;
  made.time = {9, time, {time * 0.99, time * 1.01}, time, time, time, true};
  return made;
}

RegretReport sample() {
  analysis::HeuristicRegret::Group group;
  group.dtype = "f32";
  for (int i = 0; i < 60; ++i) {
    group.keys.push_back({{"v1:conv;" + std::to_string(i)},
                          time_of("impl=<b>slow</b>", 20.0),
                          time_of("impl=fast", 10.0),
                          2.0,
                          false});
  }
  group.mean.mean = 2.0;
  group.mean.low = 1.5;
  group.mean.high = 2.5;
  group.no_choice = 3;
  analysis::HeuristicRegret::Group empty;
  empty.dtype = "bf16";
  empty.no_choice = 4;
  analysis::HeuristicRegret run;
  run.run = "01RUN";
  run.library = "onednn-3.2";
  run.device = "a CPU\x1b[31m";
  run.groups = {group, empty};
  return {run};
}

std::string written(const std::string& file) {
  std::ostringstream out;
  format_for(regret_formats(), file).write(sample(), out);
  return out.str();
}

TEST(RegretReport, json_holds_the_fifty_worst_and_no_figure_of_nothing) {
  const auto document = nlohmann::json::parse(written("r.json"));
  EXPECT_EQ(document["schema_version"], 1);
  const auto& groups = document["runs"][0]["groups"];
  EXPECT_EQ(groups[0]["keys"], 60);
  EXPECT_EQ(groups[0]["worst"].size(), 50U);
  EXPECT_EQ(groups[0]["worst"][0]["choice"]["samples"], 9);
  EXPECT_DOUBLE_EQ(groups[0]["worst"][0]["best"]["seconds"], 1e-5);
  EXPECT_DOUBLE_EQ(groups[0]["low"], 1.5);
  EXPECT_TRUE(groups[1]["geometric_mean"].is_null());
  EXPECT_TRUE(groups[1]["p99"].is_null());
  EXPECT_EQ(groups[1]["single_variant_keys"], 4);
}

TEST(RegretReport, every_format_says_the_mean_with_its_interval_and_how_it_is_counted) {
  for (const char* file : {"r.html", "r.md", "r.txt"}) {
    const std::string text = written(file);
    EXPECT_THAT(text, HasSubstr("2.0000 (1.5000 to 2.5000)")) << file;
    EXPECT_THAT(text, HasSubstr("the key counts as 1")) << file;
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << file;
    EXPECT_THAT(text, HasSubstr("v1:conv;9")) << file;
  }
  EXPECT_THAT(written("r.html"), Not(HasSubstr("<b>slow")));
  EXPECT_THAT(written("r.md"), Not(HasSubstr("<b>slow")));
  EXPECT_THAT(written("r.html"), HasSubstr("v1:conv;49"));
  EXPECT_THAT(written("r.html"), Not(HasSubstr("v1:conv;50")));
}

}  // namespace
}  // namespace plumb::reporting
