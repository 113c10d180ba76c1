// SPDX-License-Identifier: Apache-2.0

#include "harness/session/run/suite_run.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>

#include "harness/base/error.hpp"
#include "harness/session/stored/run_session.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/session/no_models.hpp"

namespace plumb::session {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const char* const kSmall =
    "v1:eltwise;in=f32[8];out=f32[8];acc=f32;math=strict;fn=relu;parameters=[]";
const char* const kLarge =
    "v1:eltwise;in=f32[16];out=f32[16];acc=f32;math=strict;fn=relu;parameters=[]";

/// Display that counts what it is asked to do.
class CountedProgress final : public ProgressDisplay {
 public:
  void show(const ProgressDisplay::Progress& progress) override {
    ++shown;
    if (when_shown) {
      when_shown(progress);
    }
  }
  void end() override { ++ended; }
  std::function<void(const ProgressDisplay::Progress&)> when_shown;
  int shown = 0;
  int ended = 0;
};

/// A store, a stack of the scripted worker, and a suite of two layers.
class SuiteRunTest : public testing::Test {
 protected:
  SuiteRunTest() {
    const std::filesystem::path stack = folder_.path() / "plumb/stacks/fake";
    std::filesystem::create_directories(stack);
    std::ofstream(stack / "stack.toml")
        << "backend = \"fake\"\n[variables]\nPLUMB_FAKE_SCRIPT = \"" << script_.string() << "\"\n";
    script("");
    ::setenv("XDG_DATA_HOME", folder_.path().c_str(), 1);
    options_.worker.stack = "fake";
    options_.command = {"plumb", "run"};
    suite_.name = "two-layers";
    suite_.caches = {results::CacheMode::kNone};
    suite_.layers = {{.key = {kSmall}, .count = 1, .file = ""},
                     {.key = {kLarge}, .count = 1, .file = ""}};
  }
  ~SuiteRunTest() override { ::unsetenv("XDG_DATA_HOME"); }

  void script(const std::string& text) { std::ofstream(script_) << text; }
  SuiteRun run() { return run_suite({*store_, models_, stop_, progress_}, options_, suite_, {}); }

  TemporaryFolder folder_;
  std::filesystem::path script_ = folder_.path() / "script.toml";
  std::unique_ptr<store::Store> store_ =
      store::open_store("sqlite:" + (folder_.path() / "store.db").string());
  NoModels models_;
  CountedProgress progress_;
  std::atomic<bool> stop_{false};
  SuiteRun::Options options_;
  suite::ResolvedSuite suite_;
};

TEST_F(SuiteRunTest, measures_every_layer_in_restarted_processes_and_finishes_the_run) {
  const SuiteRun outcome = run();
  EXPECT_EQ(outcome.state, results::RunState::kFinished);
  EXPECT_THAT(outcome.stack_faults, IsEmpty());
  const results::RunRecord run = store_->find_run(outcome.run);
  EXPECT_EQ(run.state, results::RunState::kFinished);
  EXPECT_EQ(run.header.stack, "fake");
  std::set<std::int64_t> processes;
  std::set<std::string> keys;
  for (const results::StoredMeasurement& row : store_->measurements(outcome.run)) {
    keys.insert(row.measurement.key.text);
    if (row.measurement.purpose == results::Purpose::kConfirm) {
      processes.insert(row.measurement.process);
    }
  }
  EXPECT_THAT(keys, SizeIs(2));
  EXPECT_THAT(processes, SizeIs(5));
  EXPECT_GT(progress_.shown, 0);
  EXPECT_GT(progress_.ended, 0);
}

TEST_F(SuiteRunTest, a_stopped_run_is_resumed_once_and_only_of_the_same_suite) {
  stop_ = true;
  const SuiteRun stopped = run();
  EXPECT_EQ(stopped.state, results::RunState::kInterrupted);
  stop_ = false;
  options_.resume = true;
  suite_.layers.pop_back();
  EXPECT_NE(run().run, stopped.run) << "of another suite";
  suite_.layers.push_back({.key = {kLarge}, .count = 1, .file = ""});
  const SuiteRun resumed = run();
  EXPECT_EQ(resumed.run, stopped.run);
  EXPECT_EQ(resumed.state, results::RunState::kFinished);
  EXPECT_NE(run().run, stopped.run) << "it is finished";
}

TEST_F(SuiteRunTest, processes_of_a_resumed_run_have_numbers_of_their_own) {
  progress_.when_shown = [this](const ProgressDisplay::Progress& progress) {
    stop_ = progress.done > 0;
  };
  const results::RunId id = run().run;
  const std::int64_t last = last_process(*store_, id);
  const std::size_t before = store_->measurements(id).size();
  ASSERT_EQ(store_->find_run(id).state, results::RunState::kInterrupted);
  ASSERT_GT(before, 0U);
  ASSERT_GT(last, 0);
  progress_.when_shown = nullptr;
  stop_ = false;
  options_.resume = true;
  ASSERT_EQ(run().run, id);
  const std::vector<results::StoredMeasurement> rows = store_->measurements(id);
  ASSERT_GT(rows.size(), before);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].measurement.process > last, i >= before) << i;
  }
}

TEST_F(SuiteRunTest, a_session_that_ends_early_leaves_an_interrupted_run_that_can_be_resumed) {
  results::RunHeader header;
  header.suite = "two-layers";
  header.stack = "fake";
  header.started = current_time();
  results::RunId id;
  {
    RunSession session(*store_, {});
    session.begin(header);
    id = session.id();
    EXPECT_EQ(store_->find_run(id).state, results::RunState::kRunning);
    RunSession second(*store_, {});
    EXPECT_FALSE(second.resume(header)) << "a process works on it";
  }
  EXPECT_EQ(store_->find_run(id).state, results::RunState::kInterrupted);
  RunSession session(*store_, {});
  ASSERT_TRUE(session.resume(header));
  EXPECT_EQ(session.id(), id);
  session.keep_stack_faults({"'libdnnl.so.3' was replaced"});
  session.finish(results::RunState::kInterrupted);
  RunSession third(*store_, {});
  EXPECT_FALSE(third.resume(header)) << "its stack changed";
}

TEST_F(SuiteRunTest, refuses_a_shard_that_is_none_before_anything_is_measured) {
  options_.shard = "3/2";
  EXPECT_THROW(static_cast<void>(run()), Error);
  ASSERT_THAT(store_->runs(), IsEmpty());
}

}  // namespace
}  // namespace plumb::session
