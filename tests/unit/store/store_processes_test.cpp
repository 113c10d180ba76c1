// SPDX-License-Identifier: Apache-2.0
// Several processes on one store, and one of them killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <vector>

#include "harness/store/store.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::store {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr int kWriters = 4;
constexpr int kBatches = 25;
constexpr int kRowsPerBatch = 20;

std::string run_of(int writer) {
  return "01J0000000000000000000000" + std::to_string(writer);
}

std::vector<results::Measurement> batch(int number) {
  std::vector<results::Measurement> rows;
  for (int i = 0; i < kRowsPerBatch; ++i) {
    // Keys shared by all writers and keys of this batch alone.
    rows.push_back(test::row(test::key(i % 2 == 0 ? i : 1000 + number * 100 + i), 5 + number));
  }
  return rows;
}

/// Opens the store and appends `batches` batches to its own run, one byte into `done` after each.
[[noreturn]] void write_batches(const std::string& url, int writer, int batches, int done) {
  try {
    const auto store = open_store(url);
    store->begin_run(test::header(run_of(writer), writer));
    for (int i = 0; i < batches; ++i) {
      store->append(run_of(writer), batch(i));
      if (write(done, "x", 1) != 1) {
        _exit(2);
      }
    }
    store->finish_run(run_of(writer), results::RunState::kFinished, test::at(1000));
    _exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "writer %d: %s\n", writer, error.what());
    _exit(1);
  }
}

TEST(StoreProcesses, writers_share_a_store_and_a_killed_one_loses_nothing_committed) {
  const TemporaryFolder folder;
  const std::string url = "sqlite:" + (folder.path() / "store.db").string();
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  std::array<int, 2> unused{};
  ASSERT_EQ(pipe(unused.data()), 0);

  // All of them find no store and make it; writer 0 would never end.
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      write_batches(
          url, writer, writer == 0 ? 1'000'000 : kBatches, writer == 0 ? pipe_ends[1] : unused[1]);
    }
    writers.push_back(child);
  }
  close(pipe_ends[1]);
  std::size_t committed = 0;
  char byte = 0;
  while (committed < 5 && read(pipe_ends[0], &byte, 1) == 1) {
    ++committed;
  }
  ASSERT_EQ(kill(writers[0], SIGKILL), 0);
  while (read(pipe_ends[0], &byte, 1) == 1) {
    ++committed;
  }
  for (int writer = 0; writer < kWriters; ++writer) {
    int status = 0;
    ASSERT_EQ(waitpid(writers[static_cast<std::size_t>(writer)], &status, 0),
              writers[static_cast<std::size_t>(writer)]);
    if (writer > 0) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << writer;
    }
  }
  close(pipe_ends[0]);
  close(unused[0]);
  close(unused[1]);

  const auto store = open_store(url);
  EXPECT_THAT(store->verify(), IsEmpty());
  for (int writer = 1; writer < kWriters; ++writer) {
    EXPECT_THAT(store->measurements(run_of(writer)), SizeIs(kBatches * kRowsPerBatch));
    EXPECT_EQ(store->find_run(run_of(writer)).state, results::RunState::kFinished);
  }
  const std::size_t survived = store->measurements(run_of(0)).size();
  EXPECT_EQ(survived % kRowsPerBatch, 0U) << "a batch is stored whole or not at all";
  EXPECT_GE(survived, committed * kRowsPerBatch);
  EXPECT_LE(survived, (committed + 1) * kRowsPerBatch);
  EXPECT_EQ(store->find_run(run_of(0)).state, results::RunState::kRunning);

  // The killed run resumes.
  ASSERT_TRUE(store->take_run(run_of(0)));
  store->append(run_of(0), batch(0));
  store->finish_run(run_of(0), results::RunState::kFinished, test::at(2000));
  EXPECT_THAT(store->measurements(run_of(0)), SizeIs(survived + kRowsPerBatch));
  EXPECT_THAT(store->verify(), IsEmpty());
}

// A process that looks while another makes the store sees all of its tables or none.
TEST(StoreProcesses, make_one_store_however_many_begin_at_once) {
  constexpr int kRounds = 30;
  constexpr int kOpeners = 8;
  for (int round = 0; round < kRounds; ++round) {
    const TemporaryFolder folder;
    const std::string url = "sqlite:" + (folder.path() / "store.db").string();
    std::vector<pid_t> openers;
    for (int i = 0; i < kOpeners; ++i) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        try {
          _exit(open_store(url)->runs().empty() ? 0 : 2);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "%s\n", error.what());
          _exit(1);
        }
      }
      openers.push_back(child);
    }
    for (const pid_t opener : openers) {
      int status = 0;
      ASSERT_EQ(waitpid(opener, &status, 0), opener);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace plumb::store
