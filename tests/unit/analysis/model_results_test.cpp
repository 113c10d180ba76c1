// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/model_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "tests/unit/analysis/matrix_runs.hpp"

namespace plumb::analysis {
namespace {

using testing::HasSubstr;

ModelBounds bounds_of_lenet() {
  ModelBounds model;
  model.instance = {.model = "lenet", .batch = 8, .dtype = "bf16", .dims = {{"image", 28}}};
  model.measured_layers = 11;
  model.total_layers = 12;
  model.unsupported = {{"pool0", "v1:x", "unsupported: no pooling", {}}};
  Bound bound{.kind = results::BoundKind::kLibrary,
              .mode = "plain",
              .seconds = Seconds(2.0),
              .interval = {Seconds(1.9), Seconds(2.1)},
              .complete = false,
              .oldest_row = Timestamp{},
              .inputs = {1}};
  model.bounds = {bound};
  ExecutionTime timed;
  timed.mode = "plain";
  timed.median = Seconds(3.0);
  timed.interval = {Seconds(2.9), Seconds(3.2)};
  timed.p99 = Seconds(4.0);
  timed.samples = 20;
  timed.disturbed = true;
  ExecutionTime failed;
  failed.mode = "fusion";
  failed.outcome = {results::Outcome::Kind::kCrashed, "signal 11 \"quoted\" \xff"};
  model.executions = {timed, failed};
  return model;
}

ModelWhatIfs whatifs_of_lenet() {
  WhatIfResult fusion;
  fusion.name = "fusion";
  fusion.execution_mode = "fusion";
  fusion.baseline = Seconds(2.0);
  fusion.baseline_interval = {Seconds(2.0), Seconds(2.0)};
  fusion.predicted = Seconds(1.6);
  fusion.predicted_interval = {Seconds(1.6), Seconds(1.6)};
  WhatIfResult int8;
  int8.name = "int8";
  int8.execution_mode = "int8";
  int8.why_not = "nothing to quantise";
  return {{}, {fusion, int8}};
}

TEST(ModelResults, keep_times_and_reasons_and_no_layers) {
  const ModelResults results = summarize_results(bounds_of_lenet(), whatifs_of_lenet());
  EXPECT_DOUBLE_EQ(results.bounds.at(0).seconds->value, 2.0);
  EXPECT_DOUBLE_EQ(*results.executions.at(0).seconds->high, 3.2);
  EXPECT_TRUE(results.executions.at(0).disturbed);
  EXPECT_FALSE(results.executions.at(1).seconds);
  EXPECT_DOUBLE_EQ(results.predictions.at(0).speedup->value, 1.25);
  EXPECT_FALSE(results.predictions.at(1).speedup);
  EXPECT_THAT(results.lacks, HasSubstr("11 of 12 layers have a time; not pool0: unsupported"));
}

TEST(ModelResults, are_read_from_the_store_as_they_were_written) {
  const std::vector<ModelResults> written{summarize_results(bounds_of_lenet(), whatifs_of_lenet()),
                                          timed_model("vgg", 0.25)};
  const std::string json = to_json(written);
  const std::vector<ModelResults> read = model_results_from_json(json);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].instance, written[0].instance);
  EXPECT_EQ(to_json(read), json);
  EXPECT_LT(json.size(), 4000U) << "a matrix reads thousands of them";
}

TEST(ModelResults, a_wrong_document_is_refused_by_the_name_of_its_field) {
  for (const char* const text :
       {"", "[]", "{}", R"({"models":[{}]})", R"({"models":[{"model":"a","batch":-1}]})"}) {
    EXPECT_THROW(static_cast<void>(model_results_from_json(text)), Error) << text;
  }
  std::string json = to_json(std::vector<ModelResults>{timed_model("vgg", 0.25)});
  std::string word = json;
  word.replace(word.find("\"ok\""), 4, "\"fine\"");
  EXPECT_THROW(static_cast<void>(model_results_from_json(word)), Error);
  for (const char* const time : {"[0.25]", "[\"x\",0,1]", "[null,0,1]", "[1,2,3,4]"}) {
    std::string changed = json;
    const std::size_t begin = changed.find("[0.25");
    changed.replace(begin, changed.find(']', begin) + 1 - begin, time);
    EXPECT_THROW(static_cast<void>(model_results_from_json(changed)), Error) << time;
  }
}

}  // namespace
}  // namespace plumb::analysis
