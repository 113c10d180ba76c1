// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/onnxruntime/session.hpp"
#include "tests/unit/onnxruntime/real_library.hpp"

namespace plumb::onnxruntime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kConvolution =
    "v1:conv;in=f32[1,16,12,12],f32[16,16,3,3]c;out=f32[1,16,12,12];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=relu";
constexpr const char* kProduct =
    "v1:matmul;in=f32[8,16],f32[16,9];out=f32[8,9];acc=f32;math=strict";

class SessionProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (real_library().empty()) {
      GTEST_SKIP() << "ONNX Runtime is not here: ci/setup test installs it";
    }
    library_ = std::make_unique<Library>(real_library(), 2);
  }

  [[nodiscard]] SessionProgram program(const char* key, const Session::Settings& settings) const {
    return {*library_, write_layer(model::parse_key({key})), settings};
  }

  std::unique_ptr<Library> library_;
};

TEST_F(SessionProgramTest, says_which_nodes_were_executed_and_where) {
  const std::vector<model::Tensor> operands =
      engine::random_operands(model::parse_key({kConvolution}), 1);
  for (const auto& [level, nodes] : {std::pair{Session::Optimization::kOff, "2"},
                                     std::pair{Session::Optimization::kExtended, "1"}}) {
    SessionProgram made = program(kConvolution, {level, false, {}, true});
    made.bind(0, operands, false);
    made.enqueue(0);
    made.synchronize();
    EXPECT_THAT(made.collect_counters(0, Seconds(0.1)).attributes, IsEmpty());
    static_cast<void>(made.outputs(0));
    const results::Attributes seen = made.collect_counters(0, Seconds(0.1)).attributes;
    EXPECT_EQ(seen.at("nodes"), nodes) << to_text(level);
    EXPECT_EQ(seen.at("providers"), std::string("CPUExecutionProvider:") + nodes);
    EXPECT_GT(made.facts().creation.value(), Seconds(0.0));
    EXPECT_EQ(made.facts().implementation, "optimization=" + to_text(level));
  }
}

TEST_F(SessionProgramTest, names_the_nodes_that_another_provider_left_to_the_cpu) {
  Session::Settings settings{Session::Optimization::kOff, false, {}, true};
  settings.provider = "AZURE";  // which has operators of its own only
  SessionProgram made = program(kConvolution, settings);
  made.bind(0, engine::random_operands(model::parse_key({kConvolution}), 1), false);
  made.enqueue(0);
  made.synchronize();
  static_cast<void>(made.outputs(0));
  const results::Attributes seen = made.collect_counters(0, Seconds(0.1)).attributes;
  EXPECT_EQ(seen.at("providers"), "CPUExecutionProvider:2");
  EXPECT_THAT(seen.at(results::kCpuNodes), HasSubstr("(Conv)"));
  EXPECT_THAT(seen.at(results::kCpuNodes), HasSubstr("(Relu)"));
}

TEST_F(SessionProgramTest, computes_the_same_with_threads_of_its_own_and_in_parallel) {
  const model::LayerSpec spec = model::parse_key({kConvolution});
  const std::vector<model::Tensor> operands = engine::random_operands(spec, 1);
  for (const Session::Settings& settings :
       {Session::Settings{},
        Session::Settings{Session::Optimization::kAll, false, 2, false},
        Session::Settings{Session::Optimization::kAll, true, {}, false}}) {
    SessionProgram made = program(kConvolution, settings);
    made.bind(0, operands, false);
    made.enqueue(0);
    made.synchronize();
    EXPECT_TRUE(engine::verify(spec, operands, made.outputs(0)).outcome.ok());
  }
}

TEST_F(SessionProgramTest, takes_other_inputs_between_executions) {
  const model::LayerSpec spec = model::parse_key({kProduct});
  const std::vector<model::Tensor> first = engine::random_operands(spec, 1);
  const std::vector<model::Tensor> second = engine::random_operands(spec, 2);
  SessionProgram made = program(kProduct, {});
  made.bind(0, first, false);
  for (std::size_t operand = 0; operand < second.size(); ++operand) {
    const std::span<std::byte> place = made.input_bytes(0, operand);
    ASSERT_EQ(place.size(), second[operand].data.size());
    std::copy(second[operand].data.begin(), second[operand].data.end(), place.begin());
  }
  made.refresh_activations(0);
  made.enqueue(0);
  made.synchronize();
  EXPECT_TRUE(engine::verify(spec, second, made.outputs(0)).outcome.ok());
  EXPECT_EQ(made.output_bytes(0, 0).size(), made.outputs(0).at(0).data.size());
  EXPECT_THAT(made.input_bytes(0, 7), IsEmpty());
}

TEST_F(SessionProgramTest, keeps_the_reason_of_an_execution_that_fails) {
  // Nothing but the run itself can find an index beyond the table.
  const char* const key =
      "v1:gather;in=f32[30,8]c,s64[2,5];out=f32[2,5,8];acc=f32;math=strict;axis=0;"
      "distribution=uniform";
  std::vector<model::Tensor> operands = engine::random_operands(model::parse_key({key}), 1);
  operands[1].as<std::int64_t>()[3] = 30;
  SessionProgram made = program(key, {});
  made.bind(0, operands, false);
  made.enqueue(0);
  made.enqueue(0);
  try {
    made.synchronize();
    FAIL() << "the index is beyond the table";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("indices element out of data bounds"));
  }
  EXPECT_NO_THROW(made.synchronize());
}

}  // namespace
}  // namespace plumb::onnxruntime
