// SPDX-License-Identifier: Apache-2.0
//
// The whole way: WorkerProcess, channel, run_worker, FakeService and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <fstream>
#include <string>

#include "harness/base/error.hpp"
#include "harness/worker/client/worker_process.hpp"
#include "runners/fake/fake_service.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::fake {
namespace {

using testing::HasSubstr;

class FakeWorkerTest : public testing::Test {
 protected:
  worker::WorkerProcess start(const std::string& script) const {
    const std::filesystem::path file = folder_.path() / "script.toml";
    std::ofstream(file) << script;
    worker::WorkerProcess::Options options;
    options.stack.name = "fake";
    options.stack.backend = "fake";
    options.stack.variables = {{"PLUMB_FAKE_SCRIPT", file.string()}};
    return worker::WorkerProcess(options);
  }

  static worker::WorkerService::MeasureRequest request() {
    worker::WorkerService::MeasureRequest request;
    request.key = {"v1:any"};
    request.caches = {results::CacheMode::kNone, results::CacheMode::kWeights};
    return request;
  }

  static std::vector<results::Measurement> rows_of(worker::WorkerProcess& worker) {
    std::vector<results::Measurement> rows;
    worker.measure(
        request(), Seconds(20), [&](results::Measurement row) { rows.push_back(std::move(row)); });
    return rows;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(FakeWorkerTest, brings_the_same_rows_as_the_service_itself) {
  worker::WorkerProcess worker = start("");
  const std::vector<results::Measurement> rows = rows_of(worker);
  std::vector<results::Measurement> expected;
  FakeService(default_script())
      .measure(
          request(), [&](results::Measurement row) { expected.push_back(std::move(row)); }, [] {});
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].variant, expected[i].variant);
    EXPECT_EQ(rows[i].cache, expected[i].cache);
    EXPECT_EQ(rows[i].samples, expected[i].samples);
    EXPECT_EQ(rows[i].output_hash, expected[i].output_hash);
  }
}

TEST_F(FakeWorkerTest, describes_calibrates_and_lists_variants) {
  worker::WorkerProcess worker =
      start("[identity]\nlibrary = \"fake 7\"\n[calibration]\nfloor_seconds = 3e-8");
  EXPECT_EQ(worker.describe().identity.at("library"), "fake 7");
  EXPECT_EQ(worker.calibrate().floor, Seconds(3e-8));
  const std::vector<worker::Variant> variants = worker.variants({"v1:any"});
  ASSERT_EQ(variants.size(), 3U);
  EXPECT_TRUE(variants[0].library_choice);
}

TEST_F(FakeWorkerTest, turns_lack_of_memory_into_a_row_for_each_cache_mode) {
  worker::WorkerProcess worker = start("[[rule]]\naction = \"out_of_memory\"");
  const std::vector<results::Measurement> rows = rows_of(worker);
  ASSERT_EQ(rows.size(), 2U);
  for (const results::Measurement& row : rows) {
    EXPECT_EQ(row.outcome.kind, results::Outcome::Kind::kOutOfMemory);
    EXPECT_EQ(row.key.text, "v1:any");
  }
  EXPECT_EQ(rows[0].cache, results::CacheMode::kNone);
  EXPECT_EQ(rows[1].cache, results::CacheMode::kWeights);
  EXPECT_EQ(worker.variants({"v1:any"}).size(), 3U) << "the worker lives on";
}

TEST_F(FakeWorkerTest, turns_a_failure_after_some_rows_into_rows_for_what_is_missing) {
  worker::WorkerProcess worker =
      start("[[rule]]\nvariant = \"algorithm=winograd\"\naction = \"fail\"");
  const std::vector<results::Measurement> rows = rows_of(worker);
  ASSERT_EQ(rows.size(), 3U);  // direct and gemm raced, then winograd failed
  EXPECT_TRUE(rows[1].outcome.ok());
  EXPECT_EQ(rows[2].cache, results::CacheMode::kWeights);
  EXPECT_EQ(rows[2].outcome,
            (results::Outcome{results::Outcome::Kind::kCrashed,
                              "the worker failed: the script says that this fails"}));
}

TEST_F(FakeWorkerTest, dies_as_scripted) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"action = \"crash\"", "signal 6 (SIGABRT)"},
      {"action = \"exit\"\nlog = \"bye\"",
       "exited with status 3 in the middle of a request; its last line of output: bye"},
  };
  for (const auto& [rule, reason] : cases) {
    worker::WorkerProcess worker = start("[[rule]]\n" + rule);
    try {
      (void)rows_of(worker);
      ADD_FAILURE() << rule;
    } catch (const worker::WorkerDied& death) {
      EXPECT_EQ(death.outcome(), (results::Outcome{results::Outcome::Kind::kCrashed, reason}));
    }
  }
}

TEST_F(FakeWorkerTest, gets_its_rows_through_a_flood) {
  worker::WorkerProcess worker =
      start("[[rule]]\nvariant = \"algorithm=gemm\"\naction = \"flood\"");
  EXPECT_GE(rows_of(worker).size(), 6U);
  EXPECT_THAT(worker.log_tail(), HasSubstr("~~~~"));
}

TEST_F(FakeWorkerTest, hands_on_why_its_service_could_not_be_made) {
  try {
    (void)start("[[rule]]\naction = \"dance\"");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("script.toml:2: 'dance' is not one of"));
  }
}

struct Finished {
  int status = -1;
  std::string output;
};

Finished run_by_hand(const std::string& arguments) {
  const std::string command = worker::find_worker("fake", {}).string() + " " + arguments + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  Finished finished;
  for (int c = ::fgetc(pipe); c != EOF; c = ::fgetc(pipe)) {
    finished.output += static_cast<char>(c);
  }
  finished.status = WEXITSTATUS(::pclose(pipe));
  return finished;
}

TEST(FakeWorkerByHand, explains_itself) {
  const Finished bare = run_by_hand("");
  EXPECT_EQ(bare.status, 2);
  EXPECT_THAT(bare.output, HasSubstr("`plumb` starts it"));
  EXPECT_EQ(run_by_hand("--help").status, 0);
  EXPECT_EQ(run_by_hand("--help").output, bare.output);
}

TEST(FakeWorkerByHand, prints_its_environment) {
  const Finished finished = run_by_hand("--describe");
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(
      finished.output,
      "backend = fake\ndevice = no device\nlibrary = fake 1.0\nlibrary.path = none  (recorded)\n");
}

}  // namespace
}  // namespace plumb::fake
