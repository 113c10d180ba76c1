// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_options.hpp"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>

#include "harness/base/error.hpp"

namespace plumb::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

SuiteChoice parsed(const std::vector<std::string>& arguments) {
  CLI::App app;
  SuiteChoice choice;
  add_suite_choice(app, choice);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  return choice;
}

suite::ResolvedSuite suite_of(const std::vector<std::string>& arguments) {
  return suite::resolve(suite_of_models(parsed(arguments)));
}

std::string error_of(const std::vector<std::string>& arguments) {
  try {
    (void)suite_of(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(RunOptions, names_an_exported_model_by_its_code) {
  SuiteChoice choice = parsed({"--model", "dir/mine.py:build", "--model", "lenet"});
  const results::ModelCode code{"/dir/mine.py", "build", "00ff"};
  choice.exported["dir/mine.py:build"] = {"mine.py:build", code, "/data/exported/1f/build.onnx"};
  const suite::SuiteSpec spec = suite_of_models(choice);
  EXPECT_EQ(spec.name, "mine.py:build+lenet");
  const suite::ResolvedSuite suite = suite::resolve(spec);
  ASSERT_THAT(suite.models, SizeIs(2));
  EXPECT_EQ(suite.models[0].name, "mine.py:build");
  EXPECT_EQ(suite.models[0].path, "/data/exported/1f/build.onnx");
  EXPECT_EQ(suite.models[0].code, code);
  EXPECT_FALSE(suite.models[1].code);
  EXPECT_THAT(to_json(suite), HasSubstr("\"sha256\":\"00ff\""));
}

TEST(RunOptions, refuses_shapes_for_a_model_that_fixes_them_before_its_code_runs) {
  const std::atomic<bool> stop = false;
  for (const char* option : {"--batch=2", "--rebatch=2", "--dim=N=2"}) {
    SuiteChoice choice = parsed({"--model", "/nowhere/mine.py:build", option});
    try {
      export_models(choice, {"no such stack"}, stop);
      ADD_FAILURE() << "nothing was thrown for " << option;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("fixes its shapes")) << option;
    }
  }
}

TEST(RunOptions, expands_batches_types_and_dimensions_of_own_models) {
  const suite::ResolvedSuite suite = suite_of({"--model",
                                               "folder/mine.onnx",
                                               "--batch",
                                               "1,8",
                                               "--dtype",
                                               "f32,int8",
                                               "--dim",
                                               "sequence=128..256",
                                               "--dim",
                                               "sequence=384",
                                               "--dim",
                                               "image=224"});
  ASSERT_THAT(suite.models, SizeIs(2 * 2 * 3));
  const suite::ResolvedSuite::Model& first = suite.models.front();
  EXPECT_EQ(first.path, std::filesystem::current_path() / "folder/mine.onnx");
  EXPECT_EQ(first.batch, 1);
  EXPECT_EQ(first.dtype, "f32");
  EXPECT_FALSE(first.open_batch);
  EXPECT_EQ(first.dims, (std::map<std::string, std::int64_t>{{"image", 224}, {"sequence", 128}}));
  const suite::ResolvedSuite::Model& last = suite.models.back();
  EXPECT_EQ(last.batch, 8);
  EXPECT_EQ(last.dtype, "int8");
  EXPECT_EQ(last.dims.at("sequence"), 384);
}

TEST(RunOptions, train_models_by_each_optimiser_that_is_named) {
  const suite::ResolvedSuite suite = suite_of({"--model", "lenet", "--training", "none,sgd"});
  ASSERT_THAT(suite.models, SizeIs(2));
  EXPECT_EQ(suite.models[0].training, "");
  EXPECT_EQ(suite.models[1].training, "sgd");
}

TEST(RunOptions, train_by_a_loss_and_leave_weights_as_they_are) {
  const std::vector<std::string> words{"--model",
                                       "lenet",
                                       "--training",
                                       "none,sgd",
                                       "--loss",
                                       "mean_squared_error",
                                       "--freeze",
                                       "batch_norm,conv1*"};
  const suite::ResolvedSuite suite = suite_of(words);
  ASSERT_THAT(suite.models, SizeIs(2));
  EXPECT_EQ(suite.models[0].training, "");
  EXPECT_EQ(suite.models[1].training, "sgd+mean_squared_error+freeze=batch_norm+freeze=conv1*");
  EXPECT_EQ(suite_of({"--model", "lenet", "--training", "sgd+freeze=b+freeze=a+cross_entropy"})
                .models.at(0)
                .training,
            "sgd+cross_entropy+freeze=a+freeze=b");
  EXPECT_THAT(error_of({"--model", "lenet", "--training", "none", "--freeze", "batch_norm"}),
              HasSubstr("give 'training' as well, other than 'none'"));
  SuiteChoice choice;
  choice.trainings = {"sgd"};
  choice.losses = {"mean_squared_error"};
  choice.frozen = {"batch_norm", "conv1*"};
  EXPECT_THAT(words_of(choice),
              ::testing::ElementsAre("",
                                     "--training",
                                     "sgd",
                                     "--loss",
                                     "mean_squared_error",
                                     "--freeze",
                                     "batch_norm",
                                     "--freeze",
                                     "conv1*"));
}

TEST(RunOptions, takes_one_batch_and_one_type_of_a_single_model) {
  CLI::App app;
  SuiteChoice choice{.models = {"lenet"}};
  add_single_shape_choice(app, choice);
  app.parse("--batch 2 --dtype bf16 --dim a=1 --dim b=2", false);
  EXPECT_THAT(choice.batches, ElementsAre("2"));
  EXPECT_THAT(choice.dtypes, ElementsAre("bf16"));
  EXPECT_THAT(choice.dims, ElementsAre("a=1", "b=2"));
  EXPECT_THROW(app.parse("--batch 2 --batch 3", false), CLI::ArgumentMismatch);
}

TEST(RunOptions, leaves_the_batch_open_where_nobody_asks_for_one) {
  EXPECT_TRUE(suite_of({"--model", "a.onnx"}).models.at(0).open_batch);
  EXPECT_FALSE(suite_of({"--model", "lenet"}).models.at(0).open_batch);
  const suite::ResolvedSuite rewritten = suite_of({"--model", "a.onnx", "--rebatch", "2..8"});
  ASSERT_THAT(rewritten.models, SizeIs(3));
  EXPECT_TRUE(rewritten.models[2].rebatch);
  EXPECT_EQ(rewritten.models[2].batch, 8);
}

TEST(RunOptions, names_a_suite_by_its_models) {
  EXPECT_EQ(suite_of({"--model", "a/mine.onnx"}).name, "mine");
  EXPECT_EQ(suite_of({"--model", "resnet50-v1"}).name, "resnet50-v1");
  EXPECT_EQ(suite_of({"--model", "b.onnx", "--model", "a.onnx"}).name, "b+a");
  EXPECT_EQ(suite_of({"--model", "my own\tmodel.onnx"}).name, "my_own_model")
      << "baseline/NAME is a tag, and a tag has no spaces";
  const std::string one(120, 'x');
  const std::string other = one + "y";
  const std::string name = suite_of({"--model", one + ".onnx"}).name;
  EXPECT_EQ(name.size(), 80U);
  EXPECT_NE(suite_of({"--model", other + ".onnx"}).name, name);
}

TEST(RunOptions, names_the_option_that_is_wrong_and_no_file) {
  EXPECT_THAT(error_of({"--model", "a.onnx", "--batch", "0"}), HasSubstr("--batch: '0'"));
  EXPECT_THAT(error_of({"--model", "a.onnx", "--rebatch", "x"}), HasSubstr("--rebatch: 'x'"));
  EXPECT_THAT(error_of({"--model", "a.onnx", "--dim", "s"}), HasSubstr("'--dim s' is not NAME="));
  EXPECT_THAT(error_of({"--model", "a.onnx", "--dim", "s=1..8:y"}), HasSubstr("step 'y' of"));
  EXPECT_EQ(error_of({"--model", "a.onnx", "--model", "b/a.onnx"}),
            "model 'a' at batch 1 in f32 is listed twice (results are kept by name: two files need "
            "two)");
  EXPECT_THROW((void)parsed({"--model", "a.onnx", "--dtype", "fp32"}), CLI::ValidationError);
  EXPECT_THROW((void)parsed({"--batch", "1", "--rebatch", "1"}), CLI::ExcludesError);
}

TEST(RunOptions, takes_one_value_an_option_so_that_a_suite_may_follow) {
  EXPECT_EQ(parsed({"--dtype", "f32", "quick.toml"}).suite, "quick.toml");
  EXPECT_THAT(parsed({"--batch", "1,8", "quick.toml"}).batches, ElementsAre("1,8"));
}

}  // namespace
}  // namespace plumb::cli
