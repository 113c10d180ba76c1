// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/suite/suite.hpp"
#include "tests/unit/suite/suite_folder.hpp"

namespace plumb::suite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::StartsWith;

/// Reads `text` as the suite s.toml and returns the error.
std::string error_of(std::string_view text) {
  const SuiteFolder folder;
  const auto file = folder.write("s.toml", text);
  return user_error(folder, [&] { (void)read_suite(file); });
}

constexpr std::string_view kModel = "[[model]]\nname = \"lenet\"\n";

TEST(SuiteReader, reads_every_key_of_the_design) {
  const SuiteFolder folder;
  const auto file = folder.write("s.toml", R"([suite]
name = "quick"
version = 3
[defaults]
batch = [1]
dtype = ["f32"]
cache = ["none", "weights"]
[[model]]
name = "resnet50-v1"
batch = [1, 8]
scenario = ["single_stream"]
[[model]]
path = "mine.onnx"
dim.sequence = {from = 128, to = 1024, step = "x2"}
[[layers]]
file = "shapes/deepbench_conv.toml"
)");
  const SuiteSpec spec = read_suite(file);

  EXPECT_EQ(spec.name, "quick");
  EXPECT_EQ(spec.version, 3);
  EXPECT_EQ(spec.reuse, std::nullopt);
  EXPECT_THAT(spec.defaults.batch, Optional(ElementsAre(1)));
  EXPECT_THAT(spec.defaults.cache, Optional(ElementsAre("none", "weights")));
  ASSERT_EQ(spec.models.size(), 2U);
  EXPECT_EQ(spec.models[0].line, 8);
  EXPECT_THAT(spec.models[0].overrides.batch, Optional(ElementsAre(1, 8)));
  EXPECT_THAT(spec.models[0].overrides.scenario,
              Optional(ElementsAre(loadgen::ScenarioName::kSingleStream)));
  EXPECT_EQ(spec.models[0].overrides.dtype, std::nullopt);
  EXPECT_EQ(spec.models[1].path, "mine.onnx");
  ASSERT_EQ(spec.models[1].dims.at("sequence").size(), 1U);
  const auto& range = spec.models[1].dims.at("sequence")[0];
  EXPECT_EQ(range.from, 128);
  EXPECT_EQ(range.to, 1024);
  EXPECT_EQ(range.step, "x2");
  ASSERT_EQ(spec.layers.size(), 1U);
  EXPECT_EQ(spec.layers[0].line, 15);
  EXPECT_EQ(spec.layers[0].file, "shapes/deepbench_conv.toml");
}

TEST(SuiteReader, takes_one_value_for_a_list_of_one) {
  const SuiteFolder folder;
  const auto file =
      folder.write("s.toml", "[[model]]\nname = \"a\"\nbatch = 4\ndtype = \"bf16\"\n");
  const SuiteSpec spec = read_suite(file);
  EXPECT_THAT(spec.models[0].overrides.batch, Optional(ElementsAre(4)));
  EXPECT_THAT(spec.models[0].overrides.dtype, Optional(ElementsAre("bf16")));
  EXPECT_EQ(spec.name, "s");
}

TEST(SuiteReader, reads_shapes_that_alternate) {
  const SuiteFolder folder;
  const SuiteSpec spec = read_suite(
      folder.write("s.toml",
                   std::string(kModel) +
                       "shapes = [[1, 1, 28, 28], [8, 1, 28, 28]]\nshape_order = \"drawn\"\n"));
  EXPECT_THAT(spec.models[0].shapes,
              ElementsAre(ElementsAre(1, 1, 28, 28), ElementsAre(8, 1, 28, 28)));
  EXPECT_EQ(spec.models[0].shape_order, "drawn");
  const SuiteSpec rebatched = read_suite(folder.write(
      "s.toml", "[[model]]\npath = \"m.onnx\"\nrebatch = true\nshapes = [[1, 3], [2, 3]]\n"));
  EXPECT_TRUE(rebatched.models[0].rebatch);
  EXPECT_EQ(rebatched.models[0].shape_order, "in_turn");
}

TEST(SuiteReader, refuses_shapes_that_are_none) {
  const auto error_with = [](const std::string& text) {
    return error_of(std::string(kModel) + text + "\n");
  };
  std::string many = "shapes = [[1, 3]";
  for (int i = 2; i <= 17; ++i) {
    many += ", [" + std::to_string(i) + ", 3]";
  }
  EXPECT_EQ(error_with(many + "]"),
            "s.toml:1: 'shapes' in [[model]] lists 17: give 2 to 16 of them, which alternate");
  EXPECT_THAT(error_with("shapes = [[1, 3]]"), HasSubstr("lists 1: give 2 to 16"));
  EXPECT_THAT(error_with("shapes = []"), HasSubstr("'shapes' in [[model]] is an empty list"));
  for (const char* const odd : {"1", "[1, 3]", "[[1, 3], []]", "\"1x3\"", "[[1, 3], 4]"}) {
    EXPECT_THAT(error_with(std::string("shapes = ") + odd), HasSubstr("must be a list of lists"))
        << odd;
  }
  for (const char* const odd : {"[[1, 3], [0, 3]]",
                                "[[1, 3], [-1, 3]]",
                                "[[1, 3], [1, 1.5]]",
                                "[[1, 3], [1, 9223372036854775807]]",
                                "[[1, 3], [1, [3]]]"}) {
    EXPECT_THAT(error_with(std::string("shapes = ") + odd), HasSubstr("'shapes' in [[model]]"))
        << odd;
  }
  EXPECT_THAT(error_with("shapes = [[1, 3], [2000000, 3]]"), HasSubstr("a batch of 2000000"));
  EXPECT_THAT(error_with("shapes = [[1, 3], [2, 3, 4]]"), HasSubstr("each has as many extents"));
  EXPECT_THAT(error_with("shapes = [[1, 3], [2, 3]]\nbatch = 2"), HasSubstr("leave out 'batch'"));
  EXPECT_THAT(error_with("shapes = [[1, 3], [2, 3]]\ndim.s = 2"), HasSubstr("leave out 'batch'"));
  EXPECT_THAT(error_with("shape_order = \"drawn\""), HasSubstr("beside the 'shapes'"));
  EXPECT_THAT(error_with("shapes = [[1, 3], [2, 3]]\nshape_order = \"random\""),
              HasSubstr("unknown shape_order 'random'"));
}

TEST(SuiteReader, reads_exclusions_which_change_no_hash) {
  const SuiteFolder folder;
  const std::string exclude =
      "[[exclude]]\ncase = \"a|*\"\nreason = \"retired\"\nexpires = \"2027-01-31\"\n";
  const SuiteSpec with = read_suite(folder.write("s.toml", std::string(kModel) + exclude));
  ASSERT_EQ(with.exclusions.size(), 1U);
  EXPECT_EQ(with.exclusions[0], (results::Exclusion{"a|*", "retired", "", "2027-01-31"}));
  EXPECT_EQ(resolve(with).exclusions, with.exclusions);
  const std::string kept = to_json(resolve(with));
  EXPECT_EQ(to_json(resolve(read_suite(folder.write("s.toml", kModel)))), kept);
  EXPECT_EQ(error_of(std::string(kModel) +
                     std::string("[[exclude]]\ncase = \"a\"\nexpires = \"2027-01-31\"\n")),
            "s.toml:3: [[exclude]] needs 'reason': case, reason and expires");
  EXPECT_THAT(error_of(std::string(kModel) +
                       std::string("[[exclude]]\ncase = \"a\"\nreason = \"b\"\nexpires = "
                                   "\"soon\"\n")),
              testing::HasSubstr("not a date"));
}

TEST(SuiteReader, names_the_nearest_key_and_its_line) {
  EXPECT_EQ(error_of("[suite]\nname = \"x\"\n\n[defaults]\nbatch = [1]\ncache = [\"none\"]\n"
                     "dtyp = [\"f32\"]\n" +
                     std::string(kModel)),
            "s.toml:7: unknown key 'dtyp' in [defaults]; did you mean 'dtype'?");
  EXPECT_EQ(error_of("[[model]]\nnmae = \"lenet\"\nname = \"lenet\"\n"),
            "s.toml:2: unknown key 'nmae' in [[model]]; did you mean 'name'?");
  EXPECT_EQ(error_of("[suit]\nname = \"x\"\n" + std::string(kModel)),
            "s.toml:1: unknown key 'suit' in a suite; did you mean 'suite'?");
  EXPECT_EQ(
      error_of("[suite]\nfrobnication = 1\n" + std::string(kModel)),
      "s.toml:2: unknown key 'frobnication' in [suite]; the known ones are name, version, reuse, "
      "budget");
}

TEST(SuiteReader, names_the_nearest_word) {
  EXPECT_EQ(error_of("[defaults]\ndtype = [\"f32\",\n  \"bf61\"]\n" + std::string(kModel)),
            "s.toml:3: unknown dtype 'bf61'; did you mean 'bf16'?");
  EXPECT_EQ(error_of("[defaults]\ncache = \"warm\"\n" + std::string(kModel)),
            "s.toml:2: unknown cache 'warm'; the known ones are none, weights, all");
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\nscenario = [\"single-stream\"]\n"),
            "s.toml:3: unknown scenario 'single-stream'; did you mean 'single_stream'?");
}

TEST(SuiteReader, checks_types_and_ranges) {
  EXPECT_EQ(error_of("[defaults]\nbatch = [\"1\"]\n" + std::string(kModel)),
            "s.toml:2: 'batch' in [defaults] must be an integer");
  EXPECT_EQ(error_of("[defaults]\nbatch = [0]\n" + std::string(kModel)),
            "s.toml:2: 'batch' in [defaults] is 0; it must be from 1 to 1000000");
  EXPECT_EQ(error_of("[defaults]\nbatch = []\n" + std::string(kModel)),
            "s.toml:2: 'batch' in [defaults] is an empty list");
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\ndim.s = []\n"),
            "s.toml:3: 'dim.s' in [[model]] is an empty list");
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\ndim.s = [1, 0]\n"),
            "s.toml:3: 'dim.s' in [[model]] is 0; it must be from 1 to 1099511627776");
  EXPECT_EQ(error_of("[suite]\nname = 3\n" + std::string(kModel)),
            "s.toml:2: 'name' in [suite] must be a text in quotes");
  EXPECT_EQ(error_of("[model]\nname = \"lenet\"\n"),
            "s.toml:1: 'model' must be written as [[model]] tables");
  EXPECT_EQ(error_of("suite = 1\n" + std::string(kModel)),
            "s.toml:1: 'suite' must be a table: [suite]");
  EXPECT_THAT(error_of("[[model]]\nname = \"a\"\ndim.s = {from = 8, to = 4}\n"),
              HasSubstr("'to' must not be less"));
  EXPECT_THAT(error_of("[[model]]\nname = \"a\"\ndim.s = {from = 8, to = 16, stop = 2}\n"),
              HasSubstr("unknown key 'stop' in dim.s; did you mean 'step'?"));
}

TEST(SuiteReader, checks_the_limits_of_scenarios_where_they_stand) {
  const std::string server = "[[model]]\nname = \"a\"\nscenario = \"server\"\n[model.server]\n";
  EXPECT_EQ(error_of(server + "latencie = \"15ms\"\n"),
            "s.toml:5: unknown key 'latencie' in [model.server]; did you mean 'latency'?");
  EXPECT_THAT(error_of(server + "latency = \"15\"\n"),
              StartsWith("s.toml:5: '15' is not a duration"));
  EXPECT_EQ(error_of(server + "latency = 15\n"),
            "s.toml:5: 'latency' in [model.server] must be a text in quotes");
  for (const char* percentile : {"0", "100", "-1", "nan", "\"99\""}) {
    EXPECT_EQ(error_of(server + "percentile = " + percentile + "\n"),
              "s.toml:5: 'percentile' in [model.server] must be a number between 0 and 100");
  }
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\n[model.sever]\n"),
            "s.toml:3: unknown key 'sever' in [[model]]; did you mean 'server'?");
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\nserver = 3\n"),
            "s.toml:3: 'server' must be a table: [model.server]");
}

TEST(SuiteReader, checks_reuse_and_budget_where_they_stand) {
  EXPECT_THAT(error_of("[suite]\nversion = 1\nreuse = \"sometimes\"\n" + std::string(kModel)),
              StartsWith("s.toml:3: unknown reuse policy 'sometimes'"));
  EXPECT_THAT(error_of("[suite]\nbudget = \"fast\"\n" + std::string(kModel)),
              StartsWith("s.toml:2: 'fast' is not a duration"));
}

TEST(SuiteReader, wants_a_name_or_a_path) {
  const std::string wants =
      "s.toml:1: [[model]] needs either a 'name' of the zoo or the 'path' of an .onnx file";
  EXPECT_EQ(error_of("[[model]]\nbatch = 1\n"), wants);
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\npath = \"a.onnx\"\n"), wants);
  EXPECT_EQ(error_of("[[layers]]\n"), "s.toml:1: [[layers]] needs the 'file' that lists them");
}

TEST(SuiteReader, places_broken_toml) {
  EXPECT_THAT(error_of("[suite]\nname = \"x\nversion = 1\n"),
              StartsWith("s.toml:2:10: not valid TOML: "));
  EXPECT_THAT(error_of("name = 1\nname = 2\n"), StartsWith("s.toml:2:"));
}

TEST(SuiteReader, refuses_hostile_files) {
  EXPECT_THAT(error_of(std::string(1 << 20, '#') + "\n"),
              HasSubstr("is larger than 1 MiB: split it"));
  EXPECT_THAT(error_of("a = " + std::string(100'000, '[')), HasSubstr("not valid TOML"));
  EXPECT_THAT(error_of(std::string("\0\0\0", 3)), HasSubstr("not valid TOML"));
  EXPECT_THAT(error_of("\xff\xfe"), HasSubstr("not valid TOML"));
  EXPECT_THAT(error_of(std::string(5000, 'a') + " = 1\n" + std::string(kModel)),
              HasSubstr("aaa...' in a suite; the known ones are"));
  EXPECT_THAT(error_of("[defaults]\nbatch = 99999999999999999999\n"), HasSubstr("not valid TOML"));
  EXPECT_EQ(error_of(""), "s.toml:1: the suite is empty: add a [[model]] or [[layers]]");
}

TEST(SuiteReader, reports_a_missing_file_or_a_folder) {
  const SuiteFolder folder;
  EXPECT_EQ(user_error(folder, [&] { (void)read_suite(folder.path() / "none.toml"); }),
            "cannot read suite 'none.toml': no such file, or not readable");
  std::filesystem::create_directory(folder.path() / "folder");
  EXPECT_EQ(user_error(folder, [&] { (void)read_suite(folder.path() / "folder"); }),
            "cannot read suite 'folder': no such file, or not readable");
}

TEST(SuiteReader, reads_whether_a_fixed_batch_is_rewritten) {
  const SuiteFolder folder;
  const auto file = folder.write("s.toml", R"([[model]]
path = "a.onnx"
batch = 4
rebatch = true
[[model]]
path = "b.onnx"
)");
  const SuiteSpec spec = read_suite(file);
  EXPECT_TRUE(spec.models.at(0).rebatch);
  EXPECT_FALSE(spec.models.at(1).rebatch);
  EXPECT_THAT(error_of("[[model]]\npath = \"a.onnx\"\nrebatch = true\n"), HasSubstr("'batch'"));
  EXPECT_THAT(error_of("[[model]]\nname = \"lenet\"\nbatch = 1\nrebatch = true\n"),
              HasSubstr("'path'"));
  EXPECT_THAT(error_of("[[model]]\npath = \"a.onnx\"\nbatch = 1\nrebatch = 1\n"),
              HasSubstr("true or false"));
}

TEST(SuiteReader, refuses_keys_of_any_number_of_parts) {
  std::string key = "a";
  for (int i = 1; i < 31'000; ++i) {
    key += ".a";
  }
  EXPECT_EQ(error_of("[suite]\n" + key + " = 1\n"),
            "s.toml:2: a dotted key has more than 16 parts");
}

}  // namespace
}  // namespace plumb::suite
