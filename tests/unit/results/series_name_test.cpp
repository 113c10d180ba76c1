// SPDX-License-Identifier: Apache-2.0
#include "harness/results/series/series_name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace plumb::results {
namespace {

using ::testing::ElementsAre;

// A subject is a model, which may be a file in folders with any names.
TEST(SeriesName, is_read_back_whatever_the_subject) {
  for (const std::string subject :
       {"lenet|1|f32|", "a/b.onnx|1|f32|", "models/load/x|8|bf16|", "/end_to_end/m.onnx|1|f32|"}) {
    for (const std::string mode : {"plain", "fusion+bf16"}) {
      for (const SeriesName::Kind kind :
           {SeriesName::Kind::kEndToEnd, SeriesName::Kind::kAccuracy, SeriesName::Kind::kLoad}) {
        const SeriesName name =
            parse_series(model_series(subject, kind, mode, loadgen::ScenarioName::kSingleStream));
        EXPECT_EQ(name.kind, kind) << subject;
        EXPECT_EQ(name.subject, subject);
        EXPECT_EQ(name.mode, mode);
        EXPECT_EQ(name.scenario, "single_stream");
      }
      const SeriesName turn =
          parse_series(alternation_series(subject, mode, SeriesName::Turn::kChanged));
      EXPECT_EQ(turn.kind, SeriesName::Kind::kAlternation) << subject;
      EXPECT_EQ(turn.subject, subject);
      EXPECT_EQ(turn.mode, mode);
      EXPECT_EQ(turn.scenario, "changed");
      const SeriesName name =
          parse_series(bound_series(subject, BoundKind::kLibraryParallel, mode));
      EXPECT_EQ(name.kind, SeriesName::Kind::kBound) << subject;
      EXPECT_EQ(name.subject, subject);
      EXPECT_EQ(name.bound, BoundKind::kLibraryParallel);
      EXPECT_EQ(name.mode, mode);
      EXPECT_EQ(name.scenario, "");
    }
  }
  EXPECT_EQ(parse_series(layer_series("v1:relu;a/b")).kind, SeriesName::Kind::kLayer);
  EXPECT_EQ(parse_series(layer_series("v1:relu;a/b")).subject, "v1:relu;a/b");
  EXPECT_EQ(parse_series(capability_series("v1:relu")).kind, SeriesName::Kind::kCapability);
  EXPECT_EQ(parse_series(accuracy_series("v1:relu")).kind, SeriesName::Kind::kLayerAccuracy);
  EXPECT_EQ(accuracy_series("v1:relu"), "accuracy/v1:relu");
}

TEST(SeriesName, has_texts_that_stores_hold) {
  EXPECT_EQ(layer_series("v1:relu"), "layers/v1:relu");
  EXPECT_EQ(capability_series("v1:relu"), "capability/v1:relu");
  EXPECT_EQ(
      model_series(
          "lenet|1|f32|", SeriesName::Kind::kEndToEnd, "plain", loadgen::ScenarioName::kServer),
      "models/lenet|1|f32|/end_to_end/plain/server");
  EXPECT_EQ(alternation_series("lenet|1|f32|", "fusion", SeriesName::Turn::kFirst),
            "models/lenet|1|f32|/alternation/fusion/first");
  EXPECT_EQ(bound_series("lenet|1|f32|", BoundKind::kHardware, "any"),
            "models/lenet|1|f32|/hardware/any");
}

TEST(SeriesName, of_another_program_is_of_no_kind) {
  for (const char* const text :
       {"", "models/", "models//", "models/odd", "models//a/b", "costs/workspace", "layer/x"}) {
    EXPECT_EQ(parse_series(text).kind, SeriesName::Kind::kOther) << text;
  }
}

TEST(SeriesName, names_a_case_as_people_do) {
  EXPECT_THAT(case_names("layers/v1:relu;a/b"), ElementsAre("layers/v1:relu;a/b", "v1:relu;a/b"));
  EXPECT_THAT(case_names("models/a/m.onnx|1|f32|/end_to_end/plain/single_stream"),
              ElementsAre("models/a/m.onnx|1|f32|/end_to_end/plain/single_stream",
                          "a/m.onnx|1|f32|",
                          "a/m.onnx|1|f32| plain"));
  EXPECT_THAT(
      case_names("models/lenet|1|f32|/library/fusion"),
      ElementsAre("models/lenet|1|f32|/library/fusion", "lenet|1|f32|", "lenet|1|f32| fusion"));
  EXPECT_THAT(case_names("costs/workspace"), ElementsAre("costs/workspace"));
}

TEST(BoundKind, has_a_text_for_each) {
  for (int i = 0; i < 12; ++i) {
    const auto kind = static_cast<BoundKind>(i);
    EXPECT_EQ(parse_bound_kind(to_text(kind)), kind);
  }
  EXPECT_EQ(parse_bound_kind("end_to_end"), std::nullopt);
}

TEST(SeriesName, of_a_qualification_has_no_scenario) {
  EXPECT_EQ(qualified_series("lenet|1|f32|", "plain"), "models/lenet|1|f32|/plain");
  EXPECT_EQ(shown_series("lenet|1|f32|", "plain"), "models/lenet|1|f32|/end_to_end/plain");
}

TEST(SeriesName, tells_what_follows_the_subject) {
  const std::string series = bound_series("a/m.onnx|1|f32|", BoundKind::kLibrary, "fusion");
  EXPECT_EQ(behind_subject(series, "a/m.onnx|1|f32|"), "library/fusion");
  EXPECT_EQ(behind_subject(series, "a/m.onnx|1|f32"), "") << "the beginning of another subject";
  EXPECT_EQ(behind_subject(series, ""), "");
  EXPECT_EQ(behind_subject(layer_series("v1:relu"), "v1:relu"), "");
  EXPECT_EQ(behind_subject("models/lenet", "lenet"), "");
}

}  // namespace
}  // namespace plumb::results
