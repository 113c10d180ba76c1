// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "runners/onnxruntime/session.hpp"

namespace plumb::onnxruntime {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

results::Attributes read_events(const std::string& events, bool elsewhere = false) {
  std::istringstream profile("[" + events + "]");
  return read_session_profile(profile, elsewhere);
}

std::string event_of_node(const std::string& name,
                          const std::string& operation,
                          int index,
                          const std::string& provider) {
  return fmt::format(R"({{"cat":"Node","name":"{}_kernel_time","args":{{"op_name":"{}",)"
                     R"("node_index":"{}","provider":"{}"}}}})",
                     name,
                     operation,
                     index,
                     provider);
}

TEST(SessionProfile, counts_each_node_once_by_operator_and_provider) {
  const std::string conv = event_of_node("conv0", "Conv", 0, "CPUExecutionProvider");
  const std::string relu = event_of_node("relu0", "Relu", 1, "CPUExecutionProvider");
  const std::string other = event_of_node("conv1", "Conv", 2, "CPUExecutionProvider");
  const results::Attributes seen = read_events(
      conv + "," + relu + "," + other + "," + conv +
      R"(,{"cat":"Session","name":"model_run","args":{}},7,{"cat":"Node","name":"conv0_fence"})");
  EXPECT_EQ(seen.at("nodes"), "3");
  EXPECT_EQ(seen.at("operators"), "Conv:2,Relu:1");
  EXPECT_EQ(seen.at("providers"), "CPUExecutionProvider:3");
  EXPECT_FALSE(seen.contains(results::kCpuNodes)) << "no other provider was asked for";
}

TEST(SessionProfile, names_the_nodes_that_fell_back_to_the_cpu) {
  const results::Attributes seen =
      read_events(event_of_node("conv0", "Conv", 0, "CUDAExecutionProvider") + "," +
                      event_of_node("conv1", "Conv", 1, "CUDAExecutionProvider") + "," +
                      event_of_node("shape0", "Shape", 2, "CPUExecutionProvider"),
                  true);
  EXPECT_EQ(seen.at("providers"), "CUDAExecutionProvider:2,CPUExecutionProvider:1");
  EXPECT_EQ(seen.at(results::kCpuNodes), "shape0 (Shape)");
}

TEST(SessionProfile, does_not_name_very_many) {
  std::string events = event_of_node("conv", "Conv", 0, "CUDAExecutionProvider");
  for (int i = 1; i <= 130; ++i) {
    events += "," + event_of_node(fmt::format("shape{}", i), "Shape", i, "CPUExecutionProvider");
  }
  const std::string named = read_events(events, true).at(results::kCpuNodes);
  EXPECT_THAT(named, StartsWith("shape1 (Shape), shape2 (Shape), shape3 (Shape)"));
  EXPECT_THAT(named, EndsWith(", shape20 (Shape), and 110 more"));
}

TEST(SessionProfile, cuts_long_names) {
  const std::string end(10'000, 'x');
  std::string events;
  for (int i = 10; i < 30; ++i) {
    const std::string name = std::to_string(i) + end;
    events += events.empty() ? "" : ",";
    events += event_of_node(name, "Shape" + end, i, "CPUExecutionProvider");
  }
  const results::Attributes seen = read_events(events, true);
  EXPECT_EQ(seen.at("nodes"), "20");
  EXPECT_EQ(seen.at("operators"), "Shape" + end.substr(0, 95) + ":20");
  EXPECT_THAT(seen.at(results::kCpuNodes),
              StartsWith("10" + end.substr(0, 98) + " (Shape" + end.substr(0, 95) + "), 11xx"));
  EXPECT_LT(seen.at(results::kCpuNodes).size(), 5'000U);
}

TEST(SessionProfile, says_nothing_of_a_broken_one) {
  EXPECT_THAT(read_events(""), IsEmpty());
  EXPECT_THAT(read_events("{"), IsEmpty());
}

}  // namespace
}  // namespace plumb::onnxruntime
