// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/worker/client/worker_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::worker {
namespace {

WorkerProcess::Options with_variables() {
  WorkerProcess::Options options;
  options.stack.backend = "fake";
  options.stack.variables = {
      {"ONEDNN_MAX_CPU_ISA", "AVX2"}, {"CUDA_CACHE_PATH", "/somewhere"}, {"A", "1"}};
  return options;
}

TEST(StartedFacts, tell_the_workers_file_and_what_is_set_for_it) {
  const std::array surroundings{"HOME=/root",
                                "PLUMB_TEST_SLOW_LAYERS=v1:=3",
                                "LD_PRELOAD=/x.so",
                                static_cast<const char*>(nullptr)};
  const results::Facts facts = started_facts(with_variables(), surroundings.data());
  EXPECT_THAT(facts.at("worker.sha256"), testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(facts.at("stack.variables"), "A=1; ONEDNN_MAX_CPU_ISA=AVX2");
  EXPECT_EQ(facts.at("worker.variables"), "LD_PRELOAD=/x.so; PLUMB_TEST_SLOW_LAYERS=v1:=3");
}

TEST(StartedFacts, take_a_file_by_its_content) {
  const TemporaryFolder folder;
  WorkerProcess::Options options = with_variables();
  for (const char* const name : {"a", "b"}) {
    const std::filesystem::path path = folder.path() / name;
    std::ofstream(path) << "the same";
    options.stack.variables = {{"SCRIPT", path.string()}};
    EXPECT_EQ(started_facts(options, nullptr).at("stack.variables"),
              "SCRIPT=sha256:" + sha256("the same"));
  }
}

TEST(StackIdentity, has_the_variables_that_the_stack_sets) {
  Stack stack;
  EXPECT_TRUE(stack_identity(stack).empty()) << "the default stack's identity stays as it is";
  stack.variables = {{"ONEDNN_MAX_CPU_ISA", "AVX2"},
                     {"KMP_BLOCKTIME", "0"},
                     {"CUDA_CACHE_PATH", "/somewhere"},
                     {"LD_LIBRARY_PATH", "/elsewhere"},
                     {"PLUMB_FAKE_SCRIPT", "/script.toml"},
                     {"small", "letters"}};
  EXPECT_EQ(stack_identity(stack),
            (results::Facts{{"ONEDNN_MAX_CPU_ISA", "AVX2"}, {"KMP_BLOCKTIME", "0"}}));
}

TEST(StartedFacts, need_a_worker) {
  WorkerProcess::Options options;
  options.stack.backend = "nonesuch";
  EXPECT_THROW((void)started_facts(options, nullptr), Error);
}

TEST(StartedFacts, are_part_of_what_a_worker_describes) {
  WorkerProcess::Options options;
  options.stack.backend = "fake";
  options.stack.variables = {{"A", "1"}};
  const results::Environment environment = WorkerProcess(options).describe();
  EXPECT_EQ(environment.facts.at("stack.variables"), "A=1");
  EXPECT_EQ(environment.identity.at("A"), "1");
}

}  // namespace
}  // namespace plumb::worker
