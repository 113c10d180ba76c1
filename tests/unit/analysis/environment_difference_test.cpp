// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/analysis/compare/comparison_result.hpp"

namespace plumb::analysis {
namespace {

TEST(EnvironmentDifference, lists_facts_and_knows_what_is_varied) {
  const results::Environment left{{{"cpu.model", "A"}, {"library", "1"}, {"library.isa", "x"}},
                                  {{"kernel", "6"}}};
  const results::Environment right{{{"cpu.model", "B"}, {"library", "2"}, {"library.isa", "x"}},
                                   {{"kernel", "6"}, {"load", "1"}}};
  const auto diff = environment_diff(left, right);
  ASSERT_EQ(diff.size(), 3U);
  EXPECT_EQ(diff[0].name, "cpu.model");
  EXPECT_TRUE(diff[0].identity);
  EXPECT_EQ(diff[2].name, "load");
  EXPECT_FALSE(diff[2].identity);
  const std::vector<std::string> stack{"stack"};
  EXPECT_TRUE(is_varied("library", stack));
  EXPECT_TRUE(is_varied("library.isa", stack));
  EXPECT_FALSE(is_varied("cpu.model", stack));
  EXPECT_TRUE(is_varied("cpu.model", std::vector<std::string>{"cpu"}));
  EXPECT_FALSE(is_varied("librarything", stack));
  EXPECT_TRUE(is_varied("ONEDNN_MAX_CPU_ISA", stack));
  EXPECT_FALSE(is_varied("ONEDNN_MAX_CPU_ISA", std::vector<std::string>{"driver"}));
  EXPECT_TRUE(is_varied("OMP_PLACES", std::vector<std::string>{"OMP_PLACES"}));
}

results::Environment measured_with(const std::string& fact, const std::string& value) {
  results::Environment environment{
      {{"library", "onednn-3.2.0-0011"}, {"threads", "1"}},
      {{"worker.sha256", "aa"}, {"stack.variables", ""}, {"kernel", "6.1"}, {"load", "0.1"}}};
  environment.facts[fact] = value;
  return environment;
}

TEST(EnvironmentDifference, readings_and_names_do_not_make_another_software) {
  const results::Environment before = measured_with("load", "0.1");
  for (const char* const reading : {"load",
                                    "boot.id",
                                    "frequency.mhz_now",
                                    "stack.name",
                                    "measure.floor_seconds",
                                    "library.path",
                                    "plumb.commit",
                                    "gpu.temperature_celsius"}) {
    EXPECT_TRUE(is_same_software(before, measured_with(reading, "other"))) << reading;
  }
  for (const char* const fact : {"worker.sha256",
                                 "stack.variables",
                                 "kernel",
                                 "microcode",
                                 "governor",
                                 "openmp.sha256",
                                 "measured"}) {
    EXPECT_FALSE(is_same_software(before, measured_with(fact, "other"))) << fact;
  }
  results::Environment after = before;
  after.identity["library"] = "onednn-3.2.0-0012";
  EXPECT_FALSE(is_same_software(before, after));
}

TEST(EnvironmentDifference, an_equal_device_has_the_same_software) {
  results::Environment first = measured_with("gpu.index", "0");
  first.identity["gpu.uuid"] = "GPU-1";
  results::Environment second = measured_with("gpu.index", "1");
  second.identity["gpu.uuid"] = "GPU-2";
  EXPECT_TRUE(is_same_software(first, second));
  EXPECT_TRUE(names_device("gpu.uuid"));
  second.identity["gpu"] = "another model";
  EXPECT_FALSE(is_same_software(first, second));
  EXPECT_FALSE(names_device("gpu"));
}

TEST(EnvironmentDifference, a_run_that_does_not_tell_its_worker_is_not_known_to_be_the_same) {
  results::Environment old = measured_with("load", "0.1");
  old.facts.erase("worker.sha256");
  EXPECT_FALSE(is_same_software(old, old));
}

}  // namespace
}  // namespace plumb::analysis
