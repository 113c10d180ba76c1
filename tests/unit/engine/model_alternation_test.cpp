// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/engine/profile/model_requests.hpp"
#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

/// Makes a request for y = Relu(x) with these extents of x.
worker::Alternation::Request request_of(const std::vector<int>& extents,
                                        std::vector<std::uint32_t> order) {
  worker::Alternation::Request request;
  for (const int extent : extents) {
    onnx::ModelProto model;
    const std::string type = "float[1," + std::to_string(extent) + "]";
    const auto status = onnx::OnnxParser::Parse(model,
                                                ("<ir_version: 8, opset_import: [\"\": 17]> g (" +
                                                 type + " x) => (" + type + " y) { y = Relu(x) }")
                                                    .c_str());
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
    worker::ExecuteRequest& shape = request.shapes.emplace_back();
    shape.name = "relu";
    shape.model = model.SerializeAsString();
  }
  request.order = std::move(order);
  return request;
}

/// Executes the shapes of a request, which nobody watches.
worker::Alternation alternate(worker::Backend& backend,
                              const measure::Clock& clock,
                              const worker::Alternation::Request& request) {
  return alternate_shapes(
      backend, clock, request, [](const std::function<void()>& work) { work(); });
}

ScriptedVariant millisecond() {
  ScriptedVariant variant;
  variant.variant.text = "impl=scripted";
  return variant;
}

/// One program of all shapes, each of which takes 2 ms.
class SlotsProgram final : public worker::Program {
 public:
  SlotsProgram(Script& script, bool wrong) : script_(script), wrong_(wrong) {}
  [[nodiscard]] worker::Program::Facts facts() const override { return {}; }
  void bind(std::size_t slot, std::span<const model::Tensor> operands, bool /*shared*/) override {
    script_.log.push_back("slot " + std::to_string(slot));
    script_.now += Seconds(0.5);
    inputs_[slot] = operands[0];
  }
  void enqueue(std::size_t /*slot*/) override { script_.now += Seconds(2e-3); }
  void synchronize() override {}
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t slot) override {
    model::Tensor output = inputs_.at(slot);
    for (std::size_t i = 0; i < output.data.size() / sizeof(float); ++i) {
      output.as<float>()[i] = wrong_ ? 7.0F : std::max(output.as<float>()[i], 0.0F);
    }
    return {output};
  }

 private:
  Script& script_;
  bool wrong_;
  std::map<std::size_t, model::Tensor> inputs_;
};

/// Backend that executes all shapes by one program.
class ShapesBackend final : public worker::Backend {
 public:
  explicit ShapesBackend(bool is_wrong = false) : wrong(is_wrong) {}
  [[nodiscard]] results::Environment describe() const override { return single.describe(); }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override {
    return single.supports(key);
  }
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override {
    return single.variants(key);
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string& variant) override {
    return single.prepare(key, variant);
  }
  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override {
    return single.prepare_model(graph, options);
  }
  [[nodiscard]] worker::Backend::PreparedModel prepare_shapes(
      std::span<const model::Graph* const> graphs,
      const worker::Backend::ModelOptions& /*options*/) override {
    worker::Backend::PreparedModel prepared;
    prepared.operands = graphs.front()->inputs;
    prepared.program = std::make_unique<SlotsProgram>(single.script, wrong);
    return prepared;
  }

  ScriptedBackend single{std::vector<ScriptedVariant>{millisecond()}};
  bool wrong;
};

TEST(ModelAlternation, a_shape_is_planned_when_it_first_comes_and_is_kept) {
  ScriptedBackend backend({millisecond()});
  const measure::Clock clock = backend.script.clock();
  const worker::Alternation done = alternate(backend, clock, request_of({64, 8}, {0, 0, 1, 0}));
  EXPECT_FALSE(done.one_program);
  EXPECT_EQ(done.preparation, Seconds{});
  ASSERT_EQ(done.seconds.size(), 4U);
  constexpr double kBinding = 1e-5;
  for (const std::size_t first : {0U, 2U}) {
    EXPECT_NEAR(done.seconds[first].count(), 1e-3 + kBinding, 1e-6) << first;
  }
  for (const std::size_t later : {1U, 3U}) {
    EXPECT_NEAR(done.seconds[later].count(), 1e-3, 1e-6) << later;
  }
}

TEST(ModelAlternation, one_program_of_all_shapes_is_made_before) {
  ShapesBackend backend;
  const measure::Clock clock = backend.single.script.clock();
  const worker::Alternation done = alternate(backend, clock, request_of({64, 8}, {0, 1, 0}));
  EXPECT_TRUE(done.one_program);
  EXPECT_NEAR(done.preparation.count(), 1.0, 1e-3) << "two slots of half a second";
  EXPECT_THAT(backend.single.script.log, IsSupersetOf({"slot 0", "slot 1"}));
  for (const Seconds seconds : done.seconds) {
    EXPECT_NEAR(seconds.count(), 2e-3, 1e-6);
  }
}

TEST(ModelAlternation, outputs_that_differ_from_those_of_the_shape_alone_are_refused) {
  ShapesBackend backend(true);
  const measure::Clock clock = backend.single.script.clock();
  try {
    static_cast<void>(alternate(backend, clock, request_of({64, 8}, {0, 1})));
    FAIL() << "all outputs are 7";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("wrong result"));
  }
}

TEST(ModelAlternation, all_executions_are_watched_once_and_the_one_program_is_made_before) {
  ShapesBackend backend;
  const measure::Clock clock = backend.single.script.clock();
  std::vector<double> watched;
  const worker::Alternation done = alternate_shapes(
      backend, clock, request_of({64, 8}, {0, 1, 0}), [&](const std::function<void()>& work) {
        const Seconds begin = clock();
        work();
        watched.push_back((clock() - begin).count());
      });
  EXPECT_EQ(done.seconds.size(), 3U);
  ASSERT_EQ(watched.size(), 1U);
  EXPECT_NEAR(watched[0], 3 * 2e-3, 1e-6);
}

TEST(ModelAlternation, what_cannot_alternate_says_why) {
  ScriptedBackend backend({millisecond()});
  const measure::Clock clock = backend.script.clock();
  worker::Alternation::Request request = request_of({64, 8}, {0});
  for (worker::ExecuteRequest& shape : request.shapes) {
    shape.modes.front().mode.int8 = true;
  }
  EXPECT_THROW(static_cast<void>(alternate(backend, clock, request)), Error);
  EXPECT_THROW(static_cast<void>(alternate(backend, clock, {})), Error);
}

}  // namespace
}  // namespace plumb::engine
