// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/file_descriptor.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::worker {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

const model::LayerKey kKey{"v1:any"};

WorkerOptions misbehaving(const std::string& how) {
  WorkerOptions options;
  options.stack.name = "test";
  options.stack.backend = "misbehaving";
  options.stack.variables = {{"PLUMB_MISBEHAVE", how}};
  return options;
}

/// Asks a worker that misbehaves in this way to measure, and returns what became of it.
results::Outcome outcome_of(const std::string& how,
                            Seconds timeout = Seconds(60),
                            std::vector<results::Measurement>* rows = nullptr) {
  WorkerProcess worker(misbehaving(how));
  MeasureRequest request;
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

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

/// Tells whether a process still runs (a zombie does not).
bool runs(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.at(name_end + 2) != 'Z' &&
         text.at(name_end + 2) != 'X';
}

bool ends_within_seconds(pid_t pid) {
  for (int i = 0; i < 500 && runs(pid); ++i) {
    std::this_thread::sleep_for(10ms);
  }
  return !runs(pid);
}

class WorkerProcessTest : public testing::Test {
 protected:
  void SetUp() override { descriptors_ = open_descriptors(); }

  void TearDown() override {
    EXPECT_EQ(open_descriptors(), descriptors_) << "descriptors are left open";
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
  }

 private:
  std::size_t descriptors_ = 0;
};

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
  MeasureRequest request;
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
    MeasureRequest request;
    request.key = kKey;
    EXPECT_THROW(worker.measure(request, Seconds(0.1), [](const results::Measurement&) {}),
                 WorkerDied);
  }
  EXPECT_FALSE(runs(pid));
}

TEST_F(WorkerProcessTest, kills_the_worker_when_a_row_cannot_be_taken) {
  WorkerProcess worker(misbehaving("flood"));
  MeasureRequest request;
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
  WorkerOptions options = misbehaving("surroundings");
  options.stack.variables["ONEDNN_MAX_CPU_ISA"] = "AVX2";
  options.stack.folders = {"/folder/of/stack"};
  options.stack.libraries = {"/folder/of/stack/lib.so"};
  options.threads = 2;
  options.observe = {.kernels = true, .metrics = {{"a.sum", "b.max"}}};
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
            "libraries: \"/folder/of/stack/lib.so\" threads: 2 observe_kernels: true "
            "observe_metrics { name: \"a.sum\" name: \"b.max\" }");
  EXPECT_TRUE(seen.facts.at("LD_LIBRARY_PATH").starts_with("/folder/of/stack"));
}

std::string start_error(WorkerOptions options) {
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
  WorkerOptions silent = misbehaving("silent");
  silent.start_timeout = Seconds(0.2);
  EXPECT_THAT(start_error(silent), HasSubstr("does not start: no answer for 0.2 s"));
}

TEST_F(WorkerProcessTest, refuses_a_worker_of_another_version_or_backend) {
  EXPECT_THAT(start_error(misbehaving("wrong_version")),
              HasSubstr("speaks protocol version 7 and this program 6; build or install both"));
  EXPECT_THAT(start_error(misbehaving("wrong_backend")), HasSubstr("its backend is 'other'"));
}

TEST_F(WorkerProcessTest, says_what_to_build_when_there_is_no_worker) {
  WorkerOptions options;
  options.stack.backend = "nowhere";
  EXPECT_THAT(start_error(options), HasSubstr("there is no plumb-worker-nowhere in"));
}

TEST_F(WorkerProcessTest, says_what_the_system_refuses_to_execute) {
  WorkerOptions options = misbehaving("hang");
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
  WorkerOptions options = misbehaving("surroundings");
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

/// Asks a worker that misbehaves in this way to load a model.
results::Outcome outcome_of_load(const std::string& how,
                                 Seconds timeout,
                                 const std::function<bool(const LoadProgress&)>& keep_running) {
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

TEST_F(WorkerProcessTest, takes_no_heartbeat_for_progress) {
  int beats = 0;
  const results::Outcome outcome =
      outcome_of_load("beat_idly", Seconds(0.5), [&](const LoadProgress&) {
        ++beats;
        return true;
      });
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kTimedOut);
  EXPECT_GT(beats, 1);
}

TEST_F(WorkerProcessTest, ends_a_load_when_it_is_told_to) {
  const results::Outcome outcome =
      outcome_of_load("beat_idly", Seconds(60), [](const LoadProgress&) { return false; });
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kSkipped);
}

/// Asks a worker that stalls half-way to execute a model.
results::Outcome outcome_of_stall(Seconds timeout,
                                  const std::function<bool(const ExecuteProgress&)>& keep_running) {
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

TEST_F(WorkerProcessTest, waits_for_a_model_as_long_as_it_goes_on) {
  std::set<double> shares;
  const results::Outcome outcome =
      outcome_of_stall(Seconds(0.5), [&](const ExecuteProgress& progress) {
        shares.insert(progress.share);
        return true;
      });
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kTimedOut);
  EXPECT_EQ(shares, (std::set<double>{0.0, 0.125, 0.25, 0.375, 0.5}));
}

TEST_F(WorkerProcessTest, ends_an_execution_when_it_is_told_to) {
  const results::Outcome outcome = outcome_of_stall(
      Seconds(60), [](const ExecuteProgress& progress) { return progress.share < 0.25; });
  EXPECT_EQ(outcome.kind, results::Outcome::Kind::kSkipped);
}

/// A fake worker whose models take the time that its script says.
WorkerOptions scripted(const TemporaryFolder& folder) {
  const std::filesystem::path script = folder.path() / "script.toml";
  std::ofstream(script) << "[[rule]]\nmatch = \"model:*\"\nseconds = 0.25\n";
  WorkerOptions options;
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

TEST_F(WorkerProcessTest, executes_in_turns_no_further_than_it_is_told) {
  const TemporaryFolder folder;
  WorkerProcess worker(scripted(folder));
  std::vector<std::string> modes;
  worker.begin_execution(
      two_modes_in_turns(),
      Seconds(60),
      [&](const results::Execution& each) { modes.push_back(each.mode); },
      [](const ExecuteProgress&) { return true; });
  EXPECT_TRUE(worker.take_turn());
  EXPECT_THAT(modes, IsEmpty()) << "the first turn prepares the model";
  EXPECT_TRUE(worker.take_turn());
  EXPECT_THAT(modes, ElementsAre("plain"));
  EXPECT_FALSE(worker.take_turn());
  EXPECT_THAT(modes, ElementsAre("plain", "fusion"));
  EXPECT_EQ(worker.describe().identity.count("backend"), 1U) << "it answers again";
}

TEST_F(WorkerProcessTest, measures_a_layer_in_turns_no_further_than_it_is_told) {
  const TemporaryFolder folder;
  WorkerProcess worker(scripted(folder));
  MeasureRequest request;
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

TEST_F(WorkerProcessTest, takes_all_turns_of_an_execution_that_has_no_other_side) {
  const TemporaryFolder folder;
  WorkerProcess worker(scripted(folder));
  std::size_t modes = 0;
  worker.execute(
      two_modes_in_turns(),
      Seconds(60),
      [&](const results::Execution&) { ++modes; },
      [](const ExecuteProgress&) { return true; });
  EXPECT_EQ(modes, 2U);
}

// The worker ends when it is asked for something else, or when its harness is gone.
TEST_F(WorkerProcessTest, ends_a_worker_that_awaits_a_turn_which_never_comes) {
  const TemporaryFolder folder;
  const auto nothing = [](const results::Execution&) {};
  const auto keep_running = [](const ExecuteProgress&) { return true; };
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

// A library may compute for a minute before the worker can say anything.
TEST_F(WorkerProcessTest, stops_a_worker_that_says_nothing) {
  for (const bool load : {false, true}) {
    WorkerProcess worker(misbehaving("hang"));
    std::optional<results::Outcome> outcome;
    const auto start = std::chrono::steady_clock::now();
    try {
      if (load) {
        LoadRequest request;
        request.buckets.resize(1);
        static_cast<void>(
            worker.load(request, Seconds(60), [](const LoadProgress&) { return false; }));
      } else {
        worker.execute(
            {},
            Seconds(60),
            [](const results::Execution&) { ADD_FAILURE(); },
            [](const ExecuteProgress&) { return false; });
      }
    } catch (const WorkerDied& death) {
      outcome = death.outcome();
    }
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, results::Outcome::Kind::kSkipped);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  }
}

TEST_F(WorkerProcessTest, survives_a_load_that_is_none) {
  const auto keep_running = [](const LoadProgress&) { return true; };
  for (const char* how : {"answer_nonsense", "segfault"}) {
    EXPECT_EQ(outcome_of_load(how, Seconds(60), keep_running).kind,
              results::Outcome::Kind::kCrashed)
        << how;
  }
}

}  // namespace
}  // namespace plumb::worker
