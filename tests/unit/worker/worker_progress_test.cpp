// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "tests/unit/worker/worker_process_fixture.hpp"

namespace plumb::worker {
namespace {

class WorkerProgress : public WorkerProcessTest {};

/// Silence that ends a worker: longer than a busy machine keeps a living one from its processor.
constexpr Seconds kSilence{2.0};

/// Asks a worker that misbehaves in this way to load a model.
results::Outcome outcome_of_load(
    const std::string& how,
    Seconds timeout,
    const std::function<bool(const LoadRequest::Progress&)>& keep_running) {
  WorkerProcess worker(misbehaving(how));
  LoadRequest request;
  request.buckets.resize(1);
  try {
    static_cast<void>(worker.load(request, timeout, keep_running));
  } catch (const WorkerDied& death) {
    EXPECT_THROW((void)worker.describe(), WorkerDied);
    EXPECT_TRUE(ends_within_seconds(worker.pid()));
    return death.outcome();
  }
  return {};
}

TEST_F(WorkerProgress, takes_no_heartbeat_for_progress) {
  int beats = 0;
  const results::Outcome outcome =
      outcome_of_load("beat_idly", kSilence, [&](const LoadRequest::Progress&) {
        ++beats;
        return true;
      });
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kTimedOut);
  EXPECT_GT(beats, 1);
}

TEST_F(WorkerProgress, ends_a_load_when_it_is_told_to) {
  const results::Outcome outcome =
      outcome_of_load("beat_idly", Seconds(60), [](const LoadRequest::Progress&) { return false; });
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kSkipped);
}

/// Asks a worker that stalls half-way to execute a model.
results::Outcome outcome_of_stall(
    Seconds timeout, const std::function<bool(const ExecuteRequest::Progress&)>& keep_running) {
  WorkerProcess worker(misbehaving("stall_at_half"));
  try {
    worker.execute(
        {}, timeout, [](const results::Execution&) { ADD_FAILURE(); }, keep_running);
  } catch (const WorkerDied& death) {
    EXPECT_TRUE(ends_within_seconds(worker.pid()));
    return death.outcome();
  }
  return {};
}

TEST_F(WorkerProgress, waits_for_a_model_as_long_as_it_goes_on) {
  std::set<double> shares;
  const results::Outcome outcome =
      outcome_of_stall(kSilence, [&](const ExecuteRequest::Progress& progress) {
        shares.insert(progress.share);
        return true;
      });
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kTimedOut);
  EXPECT_EQ(shares, (std::set<double>{0.0, 0.125, 0.25, 0.375, 0.5}));
}

TEST_F(WorkerProgress, ends_an_execution_when_it_is_told_to) {
  const results::Outcome outcome = outcome_of_stall(
      Seconds(60), [](const ExecuteRequest::Progress& progress) { return progress.share < 0.25; });
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kSkipped);
}

// A library may compute for a minute before the worker can say anything.
TEST_F(WorkerProgress, stops_a_worker_that_says_nothing) {
  for (const bool load : {false, true}) {
    WorkerProcess worker(misbehaving("hang"));
    std::optional<results::Outcome> outcome;
    const auto start = std::chrono::steady_clock::now();
    try {
      if (load) {
        LoadRequest request;
        request.buckets.resize(1);
        static_cast<void>(
            worker.load(request, Seconds(60), [](const LoadRequest::Progress&) { return false; }));
      } else {
        worker.execute(
            {},
            Seconds(60),
            [](const results::Execution&) { ADD_FAILURE(); },
            [](const ExecuteRequest::Progress&) { return false; });
      }
    } catch (const WorkerDied& death) {
      outcome = death.outcome();
    }
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, results::Outcome::Kind::kSkipped);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  }
}

/// Asks a worker that misbehaves in this way to measure a layer.
results::Outcome outcome_of_measurement(const std::string& how, int& rows) {
  WorkerProcess worker(misbehaving(how));
  WorkerService::MeasureRequest request;
  request.key = {"v1:any"};
  try {
    worker.measure(request, kSilence, [&](const results::Measurement&) { ++rows; });
  } catch (const WorkerDied& death) {
    return death.outcome();
  }
  return {};
}

TEST_F(WorkerProgress, waits_for_a_step_as_long_as_the_worker_announced) {
  int rows = 0;
  EXPECT_TRUE(outcome_of_measurement("take_long", rows).ok());
  EXPECT_EQ(rows, 1);
  const results::Outcome hung = outcome_of_measurement("announce_and_hang", rows);
  EXPECT_EQ(hung.kind, results::Outcome::Kind::kTimedOut);
  EXPECT_EQ(hung.reason, "no answer for 2.5 s");
}

TEST_F(WorkerProgress, ends_a_worker_that_puts_off_its_answer_or_announces_no_time) {
  for (const auto& [how, reason] : {std::pair{"put_off", "before its next reply"},
                                    std::pair{"announce_nothing", "before its next reply"},
                                    std::pair{"announce_nan", "'seconds_at_most'"}}) {
    int rows = 0;
    const results::Outcome outcome = outcome_of_measurement(how, rows);
    EXPECT_EQ(outcome.kind, results::Outcome::Kind::kCrashed) << how;
    EXPECT_THAT(outcome.reason, testing::HasSubstr(reason)) << how;
    EXPECT_EQ(rows, 0) << how;
  }
}

TEST_F(WorkerProgress, survives_a_load_that_is_none) {
  const auto keep_running = [](const LoadRequest::Progress&) { return true; };
  for (const char* how : {"answer_nonsense", "segfault"}) {
    EXPECT_EQ(outcome_of_load(how, Seconds(60), keep_running).kind,
              results::Outcome::Kind::kCrashed)
        << how;
  }
}

}  // namespace
}  // namespace plumb::worker
