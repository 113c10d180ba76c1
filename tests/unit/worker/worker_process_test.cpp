// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/worker/worker_process_fixture.hpp"

namespace plumb::worker {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

/// Asks a worker that misbehaves in this way to measure, and returns what became of it.
results::Outcome outcome_of(const std::string& how,
                            Seconds timeout = Seconds(60),
                            std::vector<results::Measurement>* rows = nullptr) {
  WorkerProcess worker(misbehaving(how));
  WorkerService::MeasureRequest request;
  request.key = kKey;
  try {
    worker.measure(request, timeout, [&](results::Measurement row) {
      if (rows != nullptr) {
        rows->push_back(std::move(row));
      }
    });
  } catch (const WorkerDied& death) {
    // A dead worker stays dead, and says the same again.
    EXPECT_THROW((void)worker.describe(), WorkerDied);
    return death.outcome();
  }
  return {};
}

TEST_F(WorkerProcessTest, names_the_signal_that_killed_a_worker) {
  const results::Outcome outcome = outcome_of("segfault");
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kCrashed);
  EXPECT_EQ(outcome.reason, "signal 11 (SIGSEGV)");
}

TEST_F(WorkerProcessTest, suspects_lack_of_memory_behind_sigkill) {
  const results::Outcome outcome = outcome_of("killed");
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kCrashed);
  EXPECT_EQ(outcome.reason, "signal 9 (SIGKILL): perhaps out of memory");
}

TEST_F(WorkerProcessTest, tells_status_and_last_words_of_a_worker_that_left) {
  EXPECT_EQ(
      outcome_of("exit"),
      (results::Outcome{results::Outcome::Kind::kCrashed,
                        "exited with status 3 in the middle of a request; its last line of output: "
                        "cannot go on"}));
  EXPECT_EQ(outcome_of("exit_zero").reason, "exited with status 0 in the middle of a request");
}

TEST_F(WorkerProcessTest, gives_up_on_a_hanging_worker) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome_of("hang", Seconds(0.3)),
            (results::Outcome{results::Outcome::Kind::kTimedOut, "no answer for 0.3 s"}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 60s);
}

TEST_F(WorkerProcessTest, does_not_let_a_trickle_of_bytes_pass_for_life) {
  EXPECT_EQ(outcome_of("trickle", Seconds(0.3)).kind, results::Outcome::Kind::kTimedOut);
}

TEST_F(WorkerProcessTest, notices_a_channel_closed_by_a_living_worker) {
  EXPECT_EQ(outcome_of("close"),
            (results::Outcome{results::Outcome::Kind::kCrashed,
                              "it violated the protocol: the worker closed its channel"}));
}

TEST_F(WorkerProcessTest, takes_truncated_frames_for_death) {
  for (const char* how : {"truncate", "truncate_length"}) {
    EXPECT_EQ(outcome_of(how),
              (results::Outcome{results::Outcome::Kind::kCrashed,
                                "exited with status 0 in the middle of a request"}));
  }
}

TEST_F(WorkerProcessTest, takes_nonsense_for_death) {
  EXPECT_THAT(outcome_of("oversize").reason,
              HasSubstr("a frame of 4294967295 bytes is above the limit of 67108864"));
  EXPECT_THAT(outcome_of("garbage").reason, HasSubstr("a frame of 3 bytes is not a reply"));
  EXPECT_THAT(outcome_of("wrong_reply").reason, HasSubstr("does not answer the request"));
  EXPECT_THAT(outcome_of("other_key").reason, HasSubstr("a different key"));
  EXPECT_THAT(outcome_of("nan").reason, HasSubstr("'samples_seconds'"));
}

TEST_F(WorkerProcessTest, keeps_the_rows_that_came_before_a_crash) {
  std::vector<results::Measurement> rows;
  EXPECT_EQ(outcome_of("row_then_crash", Seconds(60), &rows).reason, "signal 6 (SIGABRT)");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].samples, std::vector<Seconds>{Seconds(0.5)});
}

TEST_F(WorkerProcessTest, survives_a_flood_of_output) {
  WorkerProcess worker(misbehaving("flood"));
  WorkerService::MeasureRequest request;
  request.key = kKey;
  int rows = 0;
  worker.measure(request, Seconds(30), [&](const results::Measurement&) { ++rows; });
  EXPECT_EQ(rows, 1);
  EXPECT_LE(worker.log_tail().size(), std::size_t{64} << 10);
}

TEST_F(WorkerProcessTest, takes_a_workers_children_along) {
  WorkerProcess worker(misbehaving("abandon_child"));
  std::string reason;
  try {
    (void)worker.describe();
  } catch (const WorkerDied& death) {
    reason = death.outcome().reason;
  }
  ASSERT_THAT(reason,
              MatchesRegex("signal 11 \\(SIGSEGV\\); its last line of output: child [0-9]+"));
  EXPECT_TRUE(ends_within_seconds(std::stoi(reason.substr(reason.rfind(' ')))));
}

TEST_F(WorkerProcessTest, ends_a_worker_that_ignores_polite_requests) {
  pid_t pid = 0;
  {
    WorkerProcess worker(misbehaving("stubborn"));
    pid = worker.pid();
    WorkerService::MeasureRequest request;
    request.key = kKey;
    EXPECT_THROW(worker.measure(request, Seconds(0.1), [](const results::Measurement&) {}),
                 WorkerDied);
  }
  EXPECT_FALSE(runs(pid));
}

TEST_F(WorkerProcessTest, kills_the_worker_when_a_row_cannot_be_taken) {
  WorkerProcess worker(misbehaving("flood"));
  WorkerService::MeasureRequest request;
  request.key = kKey;
  EXPECT_THROW(
      worker.measure(request,
                     Seconds(30),
                     [](const results::Measurement&) { throw std::runtime_error("disk full"); }),
      std::runtime_error);
  EXPECT_FALSE(runs(worker.pid()));
  EXPECT_THROW((void)worker.describe(), WorkerDied);
}

TEST_F(WorkerProcessTest, dies_with_a_harness_that_is_killed) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t harness = ::fork();
  if (harness == 0) {
    const WorkerProcess worker(misbehaving("hang"));
    const int pid = worker.pid();
    [[maybe_unused]] const ssize_t written = ::write(ends[1], &pid, sizeof pid);
    while (true) {
      ::pause();
    }
  }
  int pid = 0;
  ASSERT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  EXPECT_TRUE(runs(pid));
  ::kill(harness, SIGKILL);
  ::waitpid(harness, nullptr, 0);
  EXPECT_TRUE(ends_within_seconds(pid));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(WorkerProcessTest, hands_over_the_stack_and_no_other_descriptor) {
  WorkerProcess::Options options = misbehaving("surroundings");
  options.stack.variables["ONEDNN_MAX_CPU_ISA"] = "AVX2";
  options.stack.folders = {"/folder/of/stack"};
  options.stack.libraries = {"/folder/of/stack/lib.so"};
  options.setup.threads = 2;
  options.setup.observe = {.kernels = true, .metrics = {{"a.sum", "b.max"}}};
  const FileDescriptor inherited(::open("/dev/zero", O_RDONLY));  // not close-on-exec
  WorkerProcess worker(options);
  const results::Environment seen = worker.describe();
  std::vector<std::string> descriptors;
  for (const auto& [name, target] : seen.identity) {
    descriptors.push_back(name);
  }
  EXPECT_THAT(descriptors,
              testing::ElementsAre("ONEDNN_MAX_CPU_ISA", "fd.0", "fd.1", "fd.2", "fd.3"));
  EXPECT_EQ(seen.identity.at("fd.0"), "/dev/null");
  EXPECT_EQ(seen.facts.at("ONEDNN_MAX_CPU_ISA"), "AVX2");
  EXPECT_EQ(seen.facts.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(seen.facts.at("setup"),
            R"({"device":"","libraries":["/folder/of/stack/lib.so"],"observe_kernels":true,)"
            R"("observe_metrics":["a.sum","b.max"],"place":null,"takes_turns":false,"threads":2})");
  EXPECT_TRUE(seen.facts.at("LD_LIBRARY_PATH").starts_with("/folder/of/stack"));
}

std::string start_error(WorkerProcess::Options options) {
  try {
    const WorkerProcess worker(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST_F(WorkerProcessTest, says_why_a_worker_does_not_start) {
  EXPECT_THAT(start_error(misbehaving("exit_at_start")),
              AllOf(HasSubstr("'misbehaving' does not start: exited with status 127"),
                    HasSubstr("libmissing.so: cannot open shared object file")));
  WorkerProcess::Options silent = misbehaving("silent");
  silent.start_timeout = Seconds(0.2);
  EXPECT_THAT(start_error(silent), HasSubstr("does not start: no answer for 0.2 s"));
}

TEST_F(WorkerProcessTest, starts_a_worker_again_that_was_killed_meanwhile) {
  const TemporaryFolder folder;
  WorkerProcess::Options options = misbehaving("killed_at_first_start");
  options.stack.variables["PLUMB_MISBEHAVED"] = folder.path() / "once";
  WorkerProcess worker(options);
  EXPECT_FALSE(worker.describe().identity.empty());
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "once"));
}

TEST_F(WorkerProcessTest, refuses_a_worker_of_another_version_or_backend) {
  EXPECT_THAT(
      start_error(misbehaving("wrong_version")),
      HasSubstr(fmt::format("speaks protocol version {} and this program {}; build or install both",
                            kProtocolVersion + 1,
                            kProtocolVersion)));
  EXPECT_THAT(start_error(misbehaving("wrong_backend")), HasSubstr("its backend is 'other'"));
}

TEST_F(WorkerProcessTest, says_what_to_build_when_there_is_no_worker) {
  WorkerProcess::Options options;
  options.stack.backend = "nowhere";
  EXPECT_THAT(start_error(options), HasSubstr("there is no plumb-worker-nowhere in"));
}

TEST_F(WorkerProcessTest, says_what_the_system_refuses_to_execute) {
  WorkerProcess::Options options = misbehaving("hang");
  options.stack.loader = "/no/such/loader";
  EXPECT_THAT(start_error(options),
              HasSubstr("cannot execute '/no/such/loader': No such file or directory"));
}

TEST_F(WorkerProcessTest, starts_a_worker_through_another_program_loader) {
  // The system's own loader stands in for that of another C library.
  const std::filesystem::path loader = "/lib64/ld-linux-x86-64.so.2";
  if (!std::filesystem::exists(loader)) {
    GTEST_SKIP() << "no such loader on this architecture";
  }
  WorkerProcess::Options options = misbehaving("surroundings");
  options.stack.loader = loader;
  WorkerProcess worker(options);
  EXPECT_EQ(worker.describe().facts.at("PLUMB_MISBEHAVE"), "surroundings");
}

TEST_F(WorkerProcessTest, moves) {
  WorkerProcess first(misbehaving("surroundings"));
  const int pid = first.pid();
  WorkerProcess second = std::move(first);
  EXPECT_EQ(second.pid(), pid);
  second = WorkerProcess(misbehaving("surroundings"));
  EXPECT_NE(second.pid(), pid);
  EXPECT_FALSE(runs(pid));
}

}  // namespace
}  // namespace plumb::worker
