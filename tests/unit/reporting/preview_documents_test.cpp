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

PreviewReport sample() {
  results::EngineChoices::Configuration before;
  before.engine = 11;
  before.knobs = {{"TILE_SIZE", 5}};
  before.workspace = Bytes{0};
  results::EngineChoices::Configuration after = before;
  after.engine = 32;
  after.knobs["TILE_SIZE"] = 7;
  analysis::EnginePreview::Comparison changed;
  changed.key = {"v1:conv;first"};
  changed.layout = "NCHW";
  changed.uses = {{"resnet50-v1, batch 1", 4}, {"vgg\x1b[31m", 1}};
  changed.nodes = 5;
  changed.change = analysis::EnginePreview::Change::kKnobs;
  changed.from = before;
  changed.to = after;
  changed.differences = {{"TILE_SIZE", "5", "7"}, {"engine", "11", "32"}};
  changed.earlier_rank = 3;
  analysis::EnginePreview::Comparison lost = changed;
  lost.key = {"v1:conv;second"};
  lost.change = analysis::EnginePreview::Change::kSupportLost;
  lost.to.reset();
  lost.differences.clear();
  lost.earlier_rank.reset();
  lost.reason = "CUDNN_STATUS_NOT_SUPPORTED";
  analysis::EnginePreview::Comparison same = changed;
  same.key = {"v1:conv;third"};
  same.change = analysis::EnginePreview::Change::kSame;
  same.differences.clear();
  results::Environment environment;
  environment.identity["library"] = "cudnn-9.12.0-00";
  environment.facts["library.version"] = "9.12.0";
  return {.suite = "vision30",
          .gpu = "NVIDIA H200",
          .profile = "H200.json",
          .dtype = "f16",
          .from = {"old", environment},
          .to = {"new", environment},
          .preview = {{lost, changed, same}, {{"matmul", "needs the driver", 2, 8}}}};
}

std::string text_of(OutputMode style) {
  std::ostringstream out;
  write_preview(sample(), style, out);
  return out.str();
}

TEST(PreviewDocuments, text_shows_what_changed_and_counts_the_rest) {
  const std::string text = text_of(OutputMode::kText);
  EXPECT_THAT(text, HasSubstr("vision30 on a described NVIDIA H200 (f16)"));
  EXPECT_THAT(text, HasSubstr("TILE_SIZE 5 → 7"));
  EXPECT_THAT(text, HasSubstr("CUDNN_STATUS_NOT_SUPPORTED"));
  EXPECT_THAT(text, HasSubstr("not covered: matmul (2 keys, 8 nodes): needs the driver"));
  EXPECT_THAT(text, Not(HasSubstr("v1:conv;third")));
  EXPECT_THAT(text, Not(HasSubstr("11 → 32")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(PreviewDocuments, json_holds_every_layer_with_both_choices) {
  const auto document = nlohmann::json::parse(text_of(OutputMode::kJson));
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["from"]["version"], "9.12.0");
  EXPECT_EQ(document["summary"]["layers"], 3);
  EXPECT_EQ(document["summary"]["knobs"]["nodes"], 5);
  EXPECT_EQ(document["not_covered"][0]["keys"], 2);
  ASSERT_EQ(document["layers"].size(), 3U);
  EXPECT_EQ(document["layers"][0]["verdict"], "changed");
  EXPECT_TRUE(document["layers"][0]["to"].is_null());
  EXPECT_EQ(document["layers"][1]["earlier_rank"], 3);
  EXPECT_EQ(document["layers"][1]["from"]["workspace_bytes"], 0);
  EXPECT_TRUE(document["layers"][1]["from"]["shared_memory_bytes"].is_null());
  EXPECT_EQ(document["layers"][1]["to"]["knobs"]["TILE_SIZE"], 7);
  EXPECT_EQ(document["layers"][2]["verdict"], "same");
}

}  // namespace
}  // namespace plumb::reporting
