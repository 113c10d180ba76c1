// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/suite_models.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "harness/base/error.hpp"
#include "harness/session/zoo/zoo_models.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Shape = std::vector<std::int64_t>;

/// Resolves one model of a suite in shapes that alternate.
suite::ResolvedSuite resolved(const suite::SuiteSpec::ModelEntry& model) {
  suite::SuiteSpec spec;
  spec.file = "/tmp/s.toml";
  spec.models.push_back(model);
  return resolve_suite(zoo_models(), spec);
}

suite::SuiteSpec::ModelEntry built_in(const std::string& name, std::vector<Shape> shapes) {
  suite::SuiteSpec::ModelEntry model;
  model.line = 3;
  model.name = name;
  model.shapes = std::move(shapes);
  return model;
}

std::string refusal_of(const suite::SuiteSpec::ModelEntry& model) {
  try {
    static_cast<void>(resolved(model));
  } catch (const Error& error) {
    return error.kind() == Error::Kind::kUser ? error.what() : "not a user error";
  }
  return "no error";
}

Shape first_shape(const suite::ResolvedSuite::Model& model) {
  const model::Graph graph = load_model(zoo_models(), model).graph;
  return graph.values[graph.inputs.front()].type.dims;
}

TEST(AlternatingShapes, become_batches_and_axes_of_a_built_in_model) {
  const suite::ResolvedSuite images =
      resolved(built_in("resnet18-v1", {{1, 3, 224, 224}, {2, 3, 64, 64}}));
  ASSERT_EQ(images.models.size(), 2U);
  EXPECT_EQ(images.models[1].batch, 2);
  EXPECT_THAT(images.models[1].dims, ElementsAre(Pair("image", 64)));
  EXPECT_THAT(first_shape(images.models[1]), ElementsAre(2, 3, 64, 64));
  const suite::ResolvedSuite texts = resolved(built_in("bert-base", {{1, 16}, {1, 32}}));
  EXPECT_THAT(texts.models[0].dims, ElementsAre(Pair("sequence", 16)));
  EXPECT_THAT(texts.models[1].dims, ElementsAre(Pair("sequence", 32)));
}

TEST(AlternatingShapes, become_open_dimensions_of_a_file_and_leave_fixed_ones_alone) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "m.onnxtxt";
  std::ofstream(file) << "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                         "g (float[N,3,W] x) => (float[N,3,W] y) { y = Relu(x) }";
  suite::SuiteSpec::ModelEntry model;
  model.path = file;
  model.shapes = {{1, 3, 8}, {4, 3, 16}};
  const suite::ResolvedSuite suite = resolved(model);
  ASSERT_EQ(suite.models.size(), 2U);
  EXPECT_FALSE(suite.models[1].open_batch);
  EXPECT_THAT(suite.models[1].dims, ElementsAre(Pair("W", 16)));
  EXPECT_THAT(first_shape(suite.models[1]), ElementsAre(4, 3, 16));
}

TEST(AlternatingShapes, are_refused_with_their_line_where_the_model_cannot_have_them) {
  EXPECT_THAT(refusal_of(built_in("lenet", {{1, 1, 28}, {2, 1, 28}})),
              HasSubstr("s.toml:3: model 'lenet' cannot have the shape [1, 1, 28]: its first input "
                        "has 4 dimensions"));
  EXPECT_THAT(refusal_of(built_in("lenet", {{1, 1, 28, 28}, {1, 3, 28, 28}})),
              HasSubstr("[1, 3, 28, 28]: by its axes the nearest is [1, 1, 28, 28]"));
  EXPECT_THAT(refusal_of(built_in("resnet18-v1", {{1, 3, 224, 224}, {1, 3, 224, 160}})),
              HasSubstr("cannot have the shape [1, 3, 224, 160]"));
  EXPECT_THAT(refusal_of(built_in("resnet18-v1", {{1, 3, 224, 224}, {1, 3, 8, 8}})),
              HasSubstr("'image' of model 'resnet18-v1' is 8"));
  EXPECT_THAT(refusal_of(built_in("lenet", {{1, 1, 28, 28}, {1, 1, 28, 28}})),
              HasSubstr("is listed twice"));
}

TEST(AlternatingShapes, do_not_alternate_where_one_alone_can_be_read) {
  suite::ResolvedSuite suite = resolved(built_in("lenet", {{1, 1, 28, 28}, {2, 1, 28, 28}}));
  suite::ResolvedSuite both = suite;
  EXPECT_EQ(prepare_models(zoo_models(), both).size(), 2U);
  EXPECT_TRUE(both.models[0].alternation.has_value());
  suite.models[1].dims["nonsense"] = 3;
  EXPECT_EQ(prepare_models(zoo_models(), suite).size(), 1U);
  ASSERT_EQ(suite.models.size(), 1U);
  EXPECT_FALSE(suite.models[0].alternation.has_value());
}

TEST(AlternatingShapes, are_of_one_type_and_of_a_mode_without_measured_variants) {
  const suite::ResolvedSuite suite = resolved(built_in("lenet", {{1, 1, 28, 28}, {2, 1, 28, 28}}));
  const ModelSource& source = zoo_models();
  const worker::Alternation::Request request =
      make_alternate_request(source, suite.models, {.fusion = true});
  ASSERT_EQ(request.shapes.size(), 2U);
  EXPECT_THAT(request.order, IsEmpty());
  EXPECT_TRUE(request.shapes[1].modes.at(0).mode.fusion);
  EXPECT_THROW(
      static_cast<void>(make_alternate_request(source, suite.models, {.best_variant = true})),
      Error);
  EXPECT_THROW(static_cast<void>(make_alternate_request(source, {suite.models.data(), 1}, {})),
               Error);
  std::vector<suite::ResolvedSuite::Model> mixed = suite.models;
  mixed[1].dtype = "bf16";
  EXPECT_THROW(static_cast<void>(make_alternate_request(source, mixed, {})), Error);
}

}  // namespace
}  // namespace plumb::session
