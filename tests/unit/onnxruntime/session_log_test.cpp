// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <utility>
#include <vector>

#include "runners/onnxruntime/library.hpp"
#include "runners/onnxruntime/nodes/onnx_model.hpp"
#include "runners/onnxruntime/session.hpp"
#include "tests/unit/onnxruntime/real_library.hpp"

namespace plumb::onnxruntime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kSum =
    "v1:binary;in=f32[2,3],f32[2,3];out=f32[2,3];acc=f32;math=strict;fn=add";

/// Writes a layer of activations, beside which the model has a weight that no node reads.
std::string model_with_unused_weight() {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(write_layer(model::parse_key({kSum})).bytes));
  onnx::TensorProto& weight = *proto.mutable_graph()->add_initializer();
  weight.set_name("nobody_reads_it");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(1);
  weight.add_float_data(1.0F);
  return proto.SerializeAsString();
}

TEST(SessionLog, has_the_lines_of_its_session_alone) {
  Library::Logs logs;
  const Library::SessionLog first(logs);
  const Library::SessionLog second(logs);
  ASSERT_NE(first.id(), second.id());
  Library::Logs::receive(&logs, 2, "onnxruntime", first.id().c_str(), "graph.cc:1", "one\nline");
  Library::Logs::receive(&logs, 3, "onnxruntime", second.id().c_str(), "graph.cc:2", "a failure");
  Library::Logs::receive(
      &logs, 1, "onnxruntime", second.id().c_str(), "graph.cc:3", "for debugging");
  Library::Logs::receive(&logs, 2, "onnxruntime", "plumb", "device.cc:4", "of no session");
  EXPECT_EQ(first.text(), "warning: one line");
  EXPECT_EQ(second.text(), "error: a failure");
}

TEST(SessionLog, is_bounded) {
  Library::Logs logs;
  const Library::SessionLog log(logs);
  const std::string message(1'000, 'x');
  Library::Logs::receive(&logs, 2, "onnxruntime", log.id().c_str(), "graph.cc:1", message.c_str());
  EXPECT_EQ(log.text(), "warning: " + message.substr(0, 291));
  for (int i = 0; i < 50; ++i) {
    logs.add(log.id(), fmt::format("message {}", i));
  }
  EXPECT_THAT(log.text(), HasSubstr("message 18\nand 31 more"));
}

TEST(SessionLog, ends_with_its_session) {
  Library::Logs logs;
  std::string id;
  {
    const Library::SessionLog log(logs);
    id = log.id();
    logs.add(id, "heard");
    EXPECT_EQ(logs.text(id), "heard");
  }
  logs.add(id, "too late");
  EXPECT_THAT(logs.text(id), IsEmpty());
}

TEST(SessionLog, says_what_the_runtime_warns_of) {
  if (real_library().empty()) {
    GTEST_SKIP() << "ONNX Runtime is not here: ci/setup test installs it";
  }
  const Library library(real_library(), 1);
  const Session clean(library, write_layer(model::parse_key({kSum})).bytes, {});
  const Session warned(library, model_with_unused_weight(), {});
  EXPECT_THAT(clean.log(), IsEmpty());
  EXPECT_THAT(warned.log(), StartsWith("warning: "));
  EXPECT_THAT(warned.log(), HasSubstr("nobody_reads_it"));
  EXPECT_THAT(clean.log(), IsEmpty());
}

TEST(SessionLog, is_an_attribute_of_what_was_executed) {
  if (real_library().empty()) {
    GTEST_SKIP() << "ONNX Runtime is not here: ci/setup test installs it";
  }
  const Library library(real_library(), 1);
  OnnxModel model = write_layer(model::parse_key({kSum}));
  model.bytes = model_with_unused_weight();
  SessionProgram program(library, std::move(model), {});
  EXPECT_THAT(program.collect_counters(0, Seconds(0.1)).attributes, IsEmpty());
  std::vector<model::Tensor> operands(2);
  for (model::Tensor& operand : operands) {
    operand.data.resize(24);
  }
  program.bind(0, operands, false);
  const results::Attributes seen = program.collect_counters(0, Seconds(0.1)).attributes;
  EXPECT_THAT(seen.at(results::kSessionLog), HasSubstr("nobody_reads_it"));
}

}  // namespace
}  // namespace plumb::onnxruntime
