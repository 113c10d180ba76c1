// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "harness/worker/client/child_process.hpp"

namespace plumb::worker {
namespace {

struct Pipe {
  FileDescriptor reading;
  FileDescriptor writing;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void write_all(const FileDescriptor& pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(pipe.number(), text.data(), text.size());
    ASSERT_GT(written, 0);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

TEST(LogTail, keeps_what_was_written) {
  Pipe pipe = make_pipe();
  ChildProcess::Log log(std::move(pipe.reading));
  write_all(pipe.writing, "one\ntwo\n\n");
  pipe.writing.reset();
  log.drain();
  EXPECT_EQ(log.text(), "one\ntwo\n\n");
  EXPECT_EQ(log.last_line(), "two");
}

TEST(LogTail, has_all_that_was_written_before_it_is_asked) {
  Pipe pipe = make_pipe();
  ChildProcess::Log log(std::move(pipe.reading));
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    const std::string line = std::to_string(i) + "\n";
    write_all(pipe.writing, line);
    expected += line;
    ASSERT_EQ(log.text(), expected);
  }
}

TEST(LogTail, keeps_only_the_last_bytes_of_a_flood) {
  Pipe pipe = make_pipe();
  ChildProcess::Log log(std::move(pipe.reading));
  const std::string line(1023, 'x');
  for (int i = 0; i < 4096; ++i) {
    write_all(pipe.writing, line + "\n");
  }
  write_all(pipe.writing, "the end");
  pipe.writing.reset();
  log.drain();
  const std::string text = log.text();
  EXPECT_EQ(text.size(), ChildProcess::Log::kKept);
  EXPECT_TRUE(text.ends_with("x\nthe end"));
}

TEST(LogTail, makes_the_last_line_short_and_printable) {
  Pipe pipe = make_pipe();
  ChildProcess::Log log(std::move(pipe.reading));
  write_all(pipe.writing, "first\n\x1b[31mred\xff" + std::string(500, 'y') + "\r\n");
  pipe.writing.reset();
  log.drain();
  const std::string line = log.last_line();
  EXPECT_EQ(line.size(), 200U);
  EXPECT_TRUE(line.starts_with("?[31mred?yyy"));
}

TEST(LogTail, has_no_last_line_when_nothing_was_written) {
  Pipe pipe = make_pipe();
  ChildProcess::Log log(std::move(pipe.reading));
  write_all(pipe.writing, " \n\n");
  pipe.writing.reset();
  log.drain();
  EXPECT_EQ(log.last_line(), "");
}

TEST(LogTail, ends_although_a_writer_is_still_there) {
  Pipe pipe = make_pipe();
  { const ChildProcess::Log log(std::move(pipe.reading)); }
  SUCCEED();
}

}  // namespace
}  // namespace plumb::worker
