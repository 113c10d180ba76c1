// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/suite/suite.hpp"
#include "tests/unit/suite/suite_folder.hpp"

namespace plumb::suite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kGemm = "v1:matmul;in=f32[64,32],f32[32,16]c;out=f32[64,16];acc=f32;math=strict";

ResolvedSuite resolved(const SuiteFolder& folder, std::string_view text) {
  return resolve(read_suite(folder.write("s.toml", text)));
}

std::string error_of(std::string_view text) {
  const SuiteFolder folder;
  return user_error(folder, [&] { (void)resolved(folder, text); });
}

std::vector<std::int64_t> extents(std::string_view range) {
  const SuiteFolder folder;
  std::vector<std::int64_t> values;
  for (const auto& model :
       resolved(folder, "[[model]]\npath = \"m.onnx\"\ndim.s = " + std::string(range) + "\n")
           .models) {
    values.push_back(model.dims.at("s"));
  }
  return values;
}

TEST(ResolvedSuite, makes_every_default_explicit) {
  const SuiteFolder folder;
  const ResolvedSuite suite = resolved(folder, "[[model]]\nname = \"lenet\"\n");
  EXPECT_EQ(suite.name, "s");
  EXPECT_EQ(suite.version, 1);
  EXPECT_EQ(suite.reuse.kind, ResolvedSuite::Reuse::Kind::kAlways);
  EXPECT_EQ(suite.budget, std::nullopt);
  EXPECT_THAT(suite.caches, ElementsAre(results::CacheMode::kNone, results::CacheMode::kWeights));
  ASSERT_EQ(suite.models.size(), 1U);
  EXPECT_EQ(suite.models[0].name, "lenet");
  EXPECT_EQ(suite.models[0].path, std::nullopt);
  EXPECT_EQ(suite.models[0].batch, 1);
  EXPECT_EQ(suite.models[0].dtype, "f32");
  EXPECT_TRUE(suite.models[0].dims.empty());
  EXPECT_TRUE(suite.models[0].scenarios.empty());
}

TEST(ResolvedSuite, expands_the_example_of_the_design) {
  const SuiteFolder folder;
  folder.write("shapes/deepbench_conv.toml", "[[layers]]\nkey = \"" + kGemm + "\"\ncount = 3\n");
  const ResolvedSuite suite = resolved(folder, R"([suite]
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
  EXPECT_EQ(suite.version, 3);
  ASSERT_EQ(suite.models.size(), 6U);  // batches 1 and 8; sequences 128, 256, 512, 1024
  EXPECT_EQ(suite.models[0].batch, 1);
  EXPECT_EQ(suite.models[1].batch, 8);
  ASSERT_EQ(suite.models[1].scenarios.size(), 1U);
  EXPECT_EQ(to_text(suite.models[1].scenarios[0]), "single_stream (90 %)");
  EXPECT_EQ(suite.models[2].name, "mine");
  EXPECT_EQ(suite.models[2].path, folder.path() / "mine.onnx");
  EXPECT_EQ(suite.models[2].dims.at("sequence"), 128);
  EXPECT_EQ(suite.models[5].dims.at("sequence"), 1024);
  EXPECT_TRUE(suite.models[5].scenarios.empty());
  ASSERT_EQ(suite.layers.size(), 1U);
  EXPECT_EQ(suite.layers[0].key.text, kGemm);
  EXPECT_EQ(suite.layers[0].count, 3);
  EXPECT_EQ(suite.layers[0].file, "shapes/deepbench_conv.toml");
}

TEST(ResolvedSuite, lets_a_model_override_the_defaults) {
  const SuiteFolder folder;
  const ResolvedSuite suite = resolved(folder, R"([defaults]
batch = [2]
dtype = ["bf16"]
scenario = ["offline"]
cache = ["all"]
[[model]]
name = "a"
[[model]]
name = "b"
dtype = ["f32", "bf16"]
)");
  EXPECT_THAT(suite.caches, ElementsAre(results::CacheMode::kAll));
  ASSERT_EQ(suite.models.size(), 3U);
  EXPECT_EQ(suite.models[0].dtype, "bf16");
  EXPECT_EQ(suite.models[0].batch, 2);
  EXPECT_THAT(suite.models[0].scenarios,
              ElementsAre(Scenario{loadgen::ScenarioName::kOffline, {}}));
  EXPECT_EQ(suite.models[1].dtype, "f32");
  EXPECT_EQ(suite.models[2].dtype, "bf16");
}

TEST(ResolvedSuite, makes_a_model_of_each_shape_that_alternates) {
  const SuiteFolder folder;
  const ResolvedSuite suite = resolved(folder, R"([defaults]
batch = [4]
[[model]]
name = "first"
[[model]]
name = "lenet"
dtype = ["f32", "bf16"]
shapes = [[1, 1, 28, 28], [8, 1, 28, 28]]
shape_order = "drawn"
)");
  ASSERT_EQ(suite.models.size(), 5U);
  EXPECT_FALSE(suite.models[0].alternation);
  std::vector<std::tuple<std::int64_t, std::string, std::int64_t>> found;
  for (std::size_t i = 1; i < suite.models.size(); ++i) {
    const ResolvedSuite::Model& model = suite.models[i];
    ASSERT_TRUE(model.alternation);
    EXPECT_EQ(model.alternation->order, "drawn");
    EXPECT_THAT(model.alternation->shape, ElementsAre(model.batch, 1, 28, 28));
    found.emplace_back(model.batch, model.dtype, model.alternation->group);
  }
  EXPECT_THAT(found,
              ElementsAre(std::tuple(1, "f32", 1),
                          std::tuple(1, "bf16", 2),
                          std::tuple(8, "f32", 1),
                          std::tuple(8, "bf16", 2)));
  const nlohmann::json document = nlohmann::json::parse(to_json(suite));
  EXPECT_FALSE(document["models"][0].contains("alternation")) << "it keeps its hash";
  EXPECT_EQ(document["models"][4]["alternation"],
            nlohmann::json::parse(R"({"group":2,"order":"drawn","shape":[8,1,28,28]})"));
  EXPECT_THAT(error_of("[[model]]\nname = \"a\"\ndtype = \"int8\"\n"
                       "shapes = [[1, 2], [2, 2]]\n"),
              HasSubstr("8-bit integers have scales of one shape"));
}

TEST(ResolvedSuite, trains_a_model_or_executes_it) {
  const SuiteFolder folder;
  const ResolvedSuite suite = resolved(folder, R"([defaults]
training = "sgd"
[[model]]
name = "a"
[[model]]
name = "b"
training = ["none", "adamw"]
)");
  ASSERT_EQ(suite.models.size(), 3U);
  EXPECT_EQ(suite.models[0].training, "sgd");
  EXPECT_EQ(suite.models[1].training, "");
  EXPECT_EQ(suite.models[2].training, "adamw");
  const auto models = nlohmann::json::parse(to_json(suite))["models"];
  EXPECT_EQ(models[0]["training"], "sgd");
  EXPECT_FALSE(models[1].contains("training"));  // as in suites of earlier versions
}

TEST(ResolvedSuite, has_the_loss_and_frozen_weights_in_the_training) {
  const SuiteFolder folder;
  const ResolvedSuite suite = resolved(folder, R"([defaults]
training = ["none", "sgd:4"]
freeze = "batch_norm"
[[model]]
name = "a"
[[model]]
name = "b"
loss = "mean_squared_error"
freeze = ["fc", "conv1*", "fc"]
[[model]]
name = "c"
training = "adam"
freeze = "none"
)");
  ASSERT_EQ(suite.models.size(), 5U);
  EXPECT_EQ(suite.models[0].training, "");
  EXPECT_EQ(suite.models[1].training, "sgd:4+freeze=batch_norm");
  EXPECT_EQ(suite.models[3].training, "sgd:4+mean_squared_error+freeze=conv1*+freeze=fc");
  EXPECT_EQ(suite.models[4].training, "adam");
  const auto models = nlohmann::json::parse(to_json(suite))["models"];
  EXPECT_EQ(models[1]["training"], "sgd:4+freeze=batch_norm");
  const std::string model = "[[model]]\nname = \"a\"\n";
  EXPECT_THAT(error_of(model + "loss = \"cross_entropy\"\n"), HasSubstr("give 'training'"));
  EXPECT_THAT(error_of(model + "training = \"sgd\"\nloss = \"hinge\"\n"),
              HasSubstr("unknown loss 'hinge'"));
  EXPECT_THAT(error_of(model + "training = \"sgd\"\nfreeze = \"a b\"\n"),
              HasSubstr("cannot name frozen weights"));
  EXPECT_THAT(error_of(model + "training = \"sgd\"\nfreeze = [\"none\", \"batch_norm\"]\n"),
              HasSubstr("'none' beside weights"));
}

TEST(ResolvedSuite, trains_in_floats_and_under_no_load) {
  const std::string model = "[[model]]\nname = \"a\"\n";
  EXPECT_THAT(error_of(model + "training = \"sgd\"\ndtype = \"int8\"\n"),
              HasSubstr("in f32, tf32, bf16 or f16"));
  EXPECT_THAT(error_of(model + "training = \"sgd\"\nscenario = \"offline\"\n"),
              HasSubstr("a scenario loads a model for inference"));
  EXPECT_THAT(error_of(model + "training = \"lion\"\n"), HasSubstr("adamw"));
}

TEST(ResolvedSuite, expands_ranges_up_to_their_end) {
  EXPECT_THAT(extents("128"), ElementsAre(128));
  EXPECT_THAT(extents("{from = 1, to = 8}"), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(extents("{from = 3, to = 20, step = \"x2\"}"), ElementsAre(3, 6, 12));
  EXPECT_THAT(extents("{from = 64, to = 300, step = \"+64\"}"), ElementsAre(64, 128, 192, 256));
  EXPECT_THAT(extents("{from = 7, to = 7, step = \"+1\"}"), ElementsAre(7));
  EXPECT_THAT(extents("[128, 384]"), ElementsAre(128, 384));
  EXPECT_THAT(extents("[1, {from = 128, to = 512}]"), ElementsAre(1, 128, 256, 512));
  // Near the largest extent, where a careless step would overflow.
  EXPECT_THAT(
      extents("{from = 1099511627775, to = 1099511627776, step = \"x9223372036854775807\"}"),
      ElementsAre(1099511627775));
  EXPECT_THAT(extents("{from = 1, to = 1099511627776, step = \"+9223372036854775807\"}"),
              ElementsAre(1));
}

TEST(ResolvedSuite, refuses_steps_that_lead_nowhere) {
  for (const char* step : {"x1",
                           "x0",
                           "x-2",
                           "+0",
                           "+-1",
                           "2",
                           "x",
                           "",
                           "x2.5",
                           "x2 ",
                           "*2",
                           "x99999999999999999999"}) {
    const std::string error =
        error_of("[[model]]\nname = \"a\"\ndim.s = {from = 1, to = 9, step = \"" +
                 std::string(step) + "\"}\n");
    EXPECT_THAT(error, testing::StartsWith("s.toml:")) << step;
  }
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\ndim.s = {from = 1, to = 9, step = \"x1\"}\n"),
            "s.toml:1: step 'x1' of dim.s must be x and a factor of at least 2, or + and an "
            "increment of at least 1, such as \"x2\" or \"+64\"");
}

TEST(ResolvedSuite, bounds_what_a_range_expands_to) {
  const std::string too_many =
      "s.toml:1: the suite expands to more than 10000 entries: narrow a range or split it";
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\ndim.s = {from = 1, to = 1000000, step = \"+1\"}\n"),
            too_many);
  const std::string hundred = " = {from = 1, to = 101, step = \"+1\"}\n";
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\ndim.s" + hundred + "dim.t" + hundred), too_many);
}

TEST(ResolvedSuite, refuses_a_model_listed_twice) {
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\n[[model]]\nname = \"a\"\nbatch = [8, 1]\n"),
            "s.toml:3: model 'a' at batch 1 in f32 is listed twice (results are kept by name: two "
            "files need two)");
  EXPECT_THAT(error_of("[[model]]\nname = \"a\"\ndim.s = [8, {from = 2, to = 8}]\n"),
              testing::StartsWith("s.toml:1: model 'a' at batch 1 in f32, s 8 is listed twice"));
  EXPECT_THAT(error_of("[[model]]\npath = \"x/m.onnx\"\n[[model]]\npath = \"y/m.onnx\"\n"),
              testing::StartsWith("s.toml:3: model 'm' at batch 1 in f32 is listed twice"));
}

TEST(ResolvedSuite, is_completed_by_who_knows_the_models) {
  const SuiteFolder folder;
  const SuiteSpec spec = read_suite(folder.write("s.toml", R"([[model]]
name = "a"
[[model]]
name = "a"
dim.s = [128, 384]
)"));
  EXPECT_EQ(resolve(spec).models.size(), 3U);
  EXPECT_THAT(user_error(folder,
                         [&] {
                           (void)resolve(spec, [](ResolvedSuite::Model& model) {
                             model.dims.emplace("s", 128);
                           });
                         }),
              testing::StartsWith("s.toml:3: model 'a' at batch 1 in f32, s 128 is listed twice"));
  EXPECT_EQ(user_error(folder,
                       [&] {
                         (void)resolve(spec, [](ResolvedSuite::Model&) {
                           throw Error(Error::Kind::kUser, "no such model");
                         });
                       }),
            "s.toml:1: no such model");
}

TEST(ResolvedSuite, reports_a_missing_shapes_file) {
  EXPECT_THAT(error_of("[[layers]]\nfile = \"none.toml\"\n"),
              HasSubstr("cannot read shapes file 'none.toml'"));
}

TEST(ResolvedSuite, joins_scenarios_with_their_limits) {
  const SuiteFolder folder;
  const ResolvedSuite suite = resolved(folder, R"([[model]]
name = "a"
note = "retired"
scenario = ["single_stream", "server", "interactive", "offline"]
[model.server]
latency = "15ms"
[model.interactive]
percentile = 99.9
first_token = "2s"
per_token = "100ms"
[[model]]
name = "b"
)");
  ASSERT_EQ(suite.models.size(), 2U);
  std::vector<std::string> texts;
  for (const Scenario& scenario : suite.models[0].scenarios) {
    texts.push_back(to_text(scenario));
  }
  EXPECT_THAT(texts,
              ElementsAre("single_stream (90 %)",
                          "server (99 %: latency 15 ms)",
                          "interactive (99.9 %: first token 2000 ms, later tokens 100 ms)",
                          "offline"));
  EXPECT_TRUE(suite.models[1].scenarios.empty());
  EXPECT_EQ(suite.models[1].note, "");
  const auto model = nlohmann::json::parse(to_json(suite))["models"][0];
  EXPECT_EQ(model["note"], "retired");
  EXPECT_EQ(model["scenario"][0].dump(), R"({"name":"single_stream","percentile":90.0})");
  EXPECT_EQ(model["scenario"][1].dump(),
            R"({"latency_seconds":0.015,"name":"server","percentile":99.0})");
  EXPECT_EQ(
      model["scenario"][2].dump(),
      R"({"first_token_seconds":2.0,"name":"interactive","per_token_seconds":0.1,"percentile":99.9})");
  EXPECT_EQ(model["scenario"][3].dump(), R"({"name":"offline"})");
}

TEST(ResolvedSuite, refuses_limits_of_a_scenario_that_is_not_run) {
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\nscenario = \"offline\"\n[model.server]\nlatency = "
                     "\"15ms\"\n"),
            "s.toml:1: [model.server] limits a scenario that the model does not list: add 'server' "
            "to its 'scenario'");
}

TEST(ResolvedSuite, writes_canonical_json) {
  const SuiteFolder folder;
  const ResolvedSuite suite =
      resolved(folder,
               "[suite]\nname = \"n\"\nreuse = \"max_age:7d\"\nbudget = \"90s\"\n[[model]]\nname = "
               "\"lenet\"\nscenario = \"server\"\n");
  EXPECT_EQ(
      to_json(suite),
      R"({"budget_seconds":90.0,"cache":["none","weights"],"layers":[],"models":[)"
      R"({"batch":1,"dims":{},"dtype":"f32","name":"lenet","scenario":[{"name":"server","percentile":99.0}]}],)"
      R"("name":"n","reuse":"max_age:7d","schema_version":1,"version":1})");
}

TEST(ResolvedSuite, accepts_the_suites_that_are_shipped) {
  const std::filesystem::path suites = PLUMB_SUITES;
  for (const char* name : {"first",
                           "gpu",
                           "mlperf-inference",
                           "mlperf-training",
                           "nightly",
                           "quick",
                           "smoke",
                           "vision30"}) {
    SCOPED_TRACE(name);
    const ResolvedSuite suite = resolve(read_suite(suites / (std::string(name) + ".toml")));
    EXPECT_EQ(suite.name, name);
    EXPECT_GE(suite.models.size(), 2U);
    EXPECT_TRUE(suite.budget.has_value() || suite.name == "vision30");
  }
  for (const char* name : {"deepbench", "deepbench-backward", "library", "training-layers"}) {
    const ResolvedSuite suite = resolve(read_suite(suites / (std::string(name) + ".toml")));
    EXPECT_EQ(suite.name, name);
    EXPECT_TRUE(suite.models.empty());
    EXPECT_GE(suite.layers.size(), 40U);
  }
  std::map<std::string, std::set<std::string>> trainings;
  for (const ResolvedSuite::Model& model :
       resolve(read_suite(suites / "mlperf-training.toml")).models) {
    trainings[model.name].insert(model.training);
  }
  EXPECT_TRUE(trainings["retinanet-resnext50"].contains("adam+focal"));
  EXPECT_TRUE(trainings["3d-unet"].contains("sgd+dice_cross_entropy"));
  const ResolvedSuite vision = resolve(read_suite(suites / "vision30.toml"));
  EXPECT_EQ(vision.models.size(), 30U);
  // The same models and BERT, each in four types and two batches.
  std::map<std::string, std::size_t> instances;
  for (const ResolvedSuite::Model& model : resolve(read_suite(suites / "gpu.toml")).models) {
    ++instances[model.name];
  }
  EXPECT_EQ(instances.size(), vision.models.size() + 1);
  EXPECT_EQ(instances["bert-base"], 8U);
  for (const ResolvedSuite::Model& model : vision.models) {
    EXPECT_EQ(instances[model.name], 8U) << model.name;
  }
}

TEST(ResolvedSuite, knows_whether_somebody_asked_for_a_batch) {
  const SuiteFolder folder;
  const ResolvedSuite open =
      resolved(folder, "[[model]]\npath = \"m.onnx\"\n[[model]]\nname = \"lenet\"\n");
  EXPECT_TRUE(open.models.at(0).open_batch);
  EXPECT_FALSE(open.models.at(1).open_batch);
  EXPECT_EQ(nlohmann::json::parse(to_json(open))["models"][0]["batch"], nullptr);
  EXPECT_EQ(nlohmann::json::parse(to_json(open))["models"][1]["batch"], 1);
  const ResolvedSuite asked = resolved(
      folder, "[defaults]\nbatch = 2\n[[model]]\npath = \"m.onnx\"\nbatch = 4\nrebatch = true\n");
  EXPECT_FALSE(asked.models.at(0).open_batch);
  EXPECT_EQ(nlohmann::json::parse(to_json(asked))["models"][0]["rebatch"], true);
}

TEST(ResolvedSuite, writes_file_names_that_are_no_utf8) {
  const SuiteFolder folder;
  SuiteSpec spec;
  spec.file = folder.path() / "s.toml";
  spec.models.emplace_back().path = "caf\xe9.onnx";
  const nlohmann::json document = nlohmann::json::parse(to_json(resolve(spec)));
  EXPECT_NO_THROW(static_cast<void>(document.dump()));
  EXPECT_EQ(path_from_text(document["models"][0]["path"].get<std::string>()),
            folder.path() / "caf\xe9.onnx");
}

}  // namespace
}  // namespace plumb::suite
