// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "tests/unit/worker/worker_process_fixture.hpp"

namespace plumb::worker {
namespace {

class WorkerTurns : public WorkerProcessTest {};

/// A fake worker whose models take the time that its script says.
WorkerProcess::Options scripted(const TemporaryFolder& folder) {
  const std::filesystem::path script = folder.path() / "script.toml";
  std::ofstream(script) << "[[rule]]\nmatch = \"model:*\"\nseconds = 0.25\n";
  WorkerProcess::Options options;
  options.stack.name = "test";
  options.stack.backend = "fake";
  options.stack.variables = {{"PLUMB_FAKE_SCRIPT", script.string()}};
  return options;
}

ExecuteRequest two_modes_in_turns() {
  ExecuteRequest request;
  request.name = "any";
  request.modes = {{}, {{.fusion = true}, {}}};
  request.in_turns = true;
  return request;
}

TEST_F(WorkerTurns, executes_in_turns_no_further_than_it_is_told) {
  const TemporaryFolder folder;
  WorkerProcess worker(scripted(folder));
  std::vector<std::string> modes;
  worker.begin_execution(
      two_modes_in_turns(),
      Seconds(60),
      [&](const results::Execution& each) { modes.push_back(each.mode); },
      [](const ExecuteRequest::Progress&) { return true; });
  EXPECT_TRUE(worker.take_turn());
  EXPECT_THAT(modes, testing::IsEmpty()) << "the first turn prepares the model";
  EXPECT_TRUE(worker.take_turn());
  EXPECT_THAT(modes, testing::ElementsAre("plain"));
  EXPECT_FALSE(worker.take_turn());
  EXPECT_THAT(modes, testing::ElementsAre("plain", "fusion"));
  EXPECT_EQ(worker.describe().identity.count("backend"), 1U) << "it answers again";
}

TEST_F(WorkerTurns, measures_a_layer_in_turns_no_further_than_it_is_told) {
  const TemporaryFolder folder;
  WorkerProcess worker(scripted(folder));
  WorkerService::MeasureRequest request;
  request.key = kKey;
  request.variants = {"algorithm=direct"};
  request.in_turns = true;
  std::size_t rows = 0;
  worker.begin_measurement(request, Seconds(60), [&](const results::Measurement&) { ++rows; });
  EXPECT_TRUE(worker.take_turn());
  EXPECT_EQ(rows, 0U);
  EXPECT_FALSE(worker.take_turn());
  EXPECT_EQ(rows, 1U);
}

TEST_F(WorkerTurns, takes_all_turns_of_an_execution_that_has_no_other_side) {
  const TemporaryFolder folder;
  WorkerProcess worker(scripted(folder));
  std::size_t modes = 0;
  worker.execute(
      two_modes_in_turns(),
      Seconds(60),
      [&](const results::Execution&) { ++modes; },
      [](const ExecuteRequest::Progress&) { return true; });
  EXPECT_EQ(modes, 2U);
}

// The worker ends when it is asked for something else, or when its harness is gone.
TEST_F(WorkerTurns, ends_a_worker_that_awaits_a_turn_which_never_comes) {
  const TemporaryFolder folder;
  const auto nothing = [](const results::Execution&) {};
  const auto keep_running = [](const ExecuteRequest::Progress&) { return true; };
  pid_t pid = 0;
  {
    WorkerProcess worker(scripted(folder));
    pid = worker.pid();
    worker.begin_execution(two_modes_in_turns(), Seconds(60), nothing, keep_running);
    EXPECT_TRUE(worker.take_turn());
  }
  EXPECT_TRUE(ends_within_seconds(pid));
  WorkerProcess worker(scripted(folder));
  worker.begin_execution(two_modes_in_turns(), Seconds(60), nothing, keep_running);
  EXPECT_TRUE(worker.take_turn());
  EXPECT_THROW(static_cast<void>(worker.describe()), WorkerDied);
}

}  // namespace
}  // namespace plumb::worker
