// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/built/bounded_program.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>

#include "harness/base/timestamp.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::stacks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BoundedProgram : public testing::Test {
 protected:
  ProgramEnd build(const std::string& command, Seconds limit = Seconds(60.0)) {
    return run_build(command, folder_.path(), limit, folder_.path() / "log", stop_, [](Seconds) {});
  }
  std::string log() const {
    std::ifstream in(folder_.path() / "log");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TemporaryFolder folder_;
  std::atomic<bool> stop_{false};
};

TEST_F(BoundedProgram, runs_in_the_folder_with_its_output_in_the_log) {
  const ProgramEnd end = build("pwd; echo one >&2; printf 'two'");
  EXPECT_THAT(end.problem, IsEmpty());
  EXPECT_THAT(end.tail, ElementsAre(std::filesystem::canonical(folder_.path()), "one", "two"));
  EXPECT_THAT(log(), HasSubstr("# pwd; echo one"));
  EXPECT_THAT(log(), HasSubstr("\none\ntwo"));
}

TEST_F(BoundedProgram, keeps_the_end_of_a_failed_one) {
  const ProgramEnd end =
      build("i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo line $i; done; exit 7");
  EXPECT_THAT(end.problem, HasSubstr("status 7"));
  ASSERT_EQ(end.tail.size(), 12U);
  EXPECT_EQ(end.tail.back(), "line 500");
  EXPECT_FALSE(end.stopped);
}

TEST_F(BoundedProgram, cuts_the_output_that_it_keeps) {
  std::size_t kept = 0;
  const ProgramEnd end = run_program(
      "/bin/sh",
      {"-c", "head -c 300000 /dev/zero | tr '\\0' x; echo; echo last"},
      {.time = Seconds(60.0), .output = 1000},
      stop_,
      [&](std::string_view text) { kept += text.size(); },
      [](Seconds) {});
  EXPECT_EQ(kept, 1000U);
  EXPECT_EQ(end.tail.back(), "last");
  EXPECT_LE(end.tail.front().size(), 400U);
}

TEST_F(BoundedProgram, ends_one_whose_time_is_over_and_what_it_started) {
  const Seconds start = steady_time();
  const ProgramEnd end = build("sleep 60 & sleep 60", Seconds(0.5));
  EXPECT_THAT(end.problem, HasSubstr("stopped after"));
  EXPECT_FALSE(end.stopped);
  EXPECT_LT((steady_time() - start).count(), 50.0) << "the limit, and not the 60 s";
}

TEST_F(BoundedProgram, kills_one_that_does_not_want_to_end) {
  const Seconds start = steady_time();
  const ProgramEnd end = build("trap '' TERM; while :; do sleep 1; done", Seconds(0.3));
  EXPECT_THAT(end.problem, HasSubstr("stopped after"));
  EXPECT_LT((steady_time() - start).count(), 60.0);
}

TEST_F(BoundedProgram, ends_when_the_user_wants) {
  stop_ = true;
  const ProgramEnd end = build("sleep 60");
  EXPECT_TRUE(end.stopped);
  EXPECT_FALSE(end.problem.empty());
}

TEST_F(BoundedProgram, does_not_wait_for_what_was_left_behind) {
  const Seconds start = steady_time();
  EXPECT_THAT(build("setsid sleep 60 & echo done").problem, IsEmpty());
  EXPECT_LT((steady_time() - start).count(), 50.0);
}

TEST_F(BoundedProgram, hides_the_repository_of_a_git_hook) {
  ::setenv("GIT_DIR", "/nowhere", 1);
  const ProgramEnd end = build("echo \"${GIT_DIR:-none} $GIT_TERMINAL_PROMPT\"");
  ::unsetenv("GIT_DIR");
  EXPECT_THAT(end.tail, ElementsAre("none 0"));
}

}  // namespace
}  // namespace plumb::stacks
