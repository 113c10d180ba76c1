// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/model_execution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include "tests/unit/engine/listed_monitor.hpp"
#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb {
namespace {

/// A model of one layer, in two modes that are timed in turns.
class Models : public ::testing::Test {
 protected:
  Models() {
    onnx::ModelProto model;
    const auto status =
        onnx::OnnxParser::Parse(model,
                                "<ir_version: 8, opset_import: [\"\": 17]>"
                                "g (float[1,64] x) => (float[1,64] y) { y = Relu(x) }");
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
    request_.name = "relu";
    request_.model = model.SerializeAsString();
    request_.modes = {{}, {{.fusion = true}, {}}};
    request_.sampling = {.budget = Seconds(0.1), .samples_at_least = 3, .samples_at_most = 20};
    variant_.variant.text = "impl=scripted";
  }

  std::vector<Execution> executed(BlockMonitor& monitor) {
    ScriptedBackend backend({variant_});
    LayerTiming timing(
        backend.script.clock(), [] { return DisturbanceReading{}; }, "", &monitor);
    std::vector<Execution> result;
    ModelExecution(backend, timing, Bytes{1 << 20}, request_).run([&](Execution execution) {
      result.push_back(std::move(execution));
    });
    looks_ =
        std::count(backend.script.log.begin(), backend.script.log.end(), "observe impl=scripted 0");
    return result;
  }

  ExecuteRequest request_;
  ScriptedVariant variant_{};
  std::ptrdiff_t looks_ = 0;
};

TEST_F(Models, rows_have_what_is_seen_and_read_beside_all_their_blocks) {
  variant_.observed.attributes = {{"kernels", "[]"}, {"tensor_cores", "no"}};
  variant_.observed.readings = {{"energy_joules", {0.5, 0.4, 0.6, 3}}};
  ListedMonitor monitor({{{{"sm_clock_hertz", {1.9e9, 1.8e9, 1.95e9, 1}}}, false, ""}});
  const std::vector<Execution> executions = executed(monitor);
  ASSERT_EQ(executions.size(), 2U);
  for (const Execution& execution : executions) {
    const Measurement& row = execution.row;
    ASSERT_TRUE(row.outcome.timed()) << row.outcome.reason;
    EXPECT_EQ(row.attributes, variant_.observed.attributes);
    EXPECT_EQ(row.readings.at("energy_joules"), (Reading{0.5, 0.4, 0.6, 3}));
    EXPECT_EQ(row.readings.at("sm_clock_hertz"), (Reading{1.9e9, 1.8e9, 1.95e9, 8}))
        << "each of the eight rounds once";
  }
  EXPECT_EQ(looks_, 2) << "once a mode";
}

TEST_F(Models, a_device_that_erred_is_not_believed) {
  ListedMonitor monitor({{{}, false, "an uncorrected memory error"}});
  const std::vector<Execution> executions = executed(monitor);
  ASSERT_EQ(executions.size(), 2U);
  EXPECT_EQ(executions[0].row.outcome.kind, Outcome::Kind::kCrashed);
  EXPECT_EQ(executions[0].row.attributes.at(kDeviceFault), "an uncorrected memory error");
  EXPECT_EQ(looks_, 0);
}

}  // namespace
}  // namespace plumb
