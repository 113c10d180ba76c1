// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/frame_channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace plumb::worker {
namespace {

using namespace std::chrono_literals;

FrameChannel::Deadline soon(std::chrono::milliseconds time = 60'000ms) {
  return std::chrono::steady_clock::now() + time;
}

struct Pair {
  FrameChannel channel;
  FileDescriptor raw;
};

Pair connect() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {FrameChannel(FileDescriptor(ends[0])), FileDescriptor(ends[1])};
}

void write_raw(const FileDescriptor& socket, std::string_view bytes) {
  ASSERT_EQ(::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

FrameChannel::ProtocolError::Kind failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const FrameChannel::ProtocolError& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return FrameChannel::ProtocolError::Kind::kBroken;
}

TEST(FrameChannel, writes_a_little_endian_length_before_the_payload) {
  Pair pair = connect();
  pair.channel.send(std::string(0x0102, 'a'), soon());
  std::array<unsigned char, 6> head{};
  ASSERT_EQ(::recv(pair.raw.number(), head.data(), head.size(), MSG_WAITALL), 6);
  EXPECT_EQ(head, (std::array<unsigned char, 6>{0x02, 0x01, 0x00, 0x00, 'a', 'a'}));
}

TEST(FrameChannel, receives_frames_in_order_also_empty_ones_then_the_end) {
  Pair pair = connect();
  write_raw(pair.raw, std::string("\x03\0\0\0abc\0\0\0\0\x01\0\0\0z", 16));
  pair.raw.reset();
  EXPECT_EQ(pair.channel.receive(soon()), "abc");
  EXPECT_EQ(pair.channel.receive(soon()), "");
  EXPECT_EQ(pair.channel.receive(soon()), "z");
  EXPECT_EQ(pair.channel.receive(soon()), std::nullopt);
}

TEST(FrameChannel, puts_a_frame_together_that_comes_byte_by_byte) {
  Pair pair = connect();
  std::thread writer([&] {
    for (const char byte : std::string("\x05\0\0\0hello", 9)) {
      write_raw(pair.raw, std::string_view(&byte, 1));
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_EQ(pair.channel.receive(soon()), "hello");
  writer.join();
}

TEST(FrameChannel, carries_a_frame_larger_than_the_sockets_buffers) {
  Pair pair = connect();
  FrameChannel other{std::move(pair.raw)};
  std::string payload(std::size_t{24} << 20, 'x');
  payload.front() = 'a';
  payload.back() = 'z';
  std::thread writer([&] { other.send(payload, soon()); });
  EXPECT_EQ(pair.channel.receive(soon()), payload);
  writer.join();
}

TEST(FrameChannel, refuses_a_length_above_the_limit_without_waiting_for_it) {
  Pair pair = connect();
  write_raw(pair.raw, std::string("\x01\0\0\x04", 4));  // 64 MiB + 1
  EXPECT_EQ(failure_of([&] { (void)pair.channel.receive(soon()); }),
            FrameChannel::ProtocolError::Kind::kBroken);
}

TEST(FrameChannel, refuses_to_send_above_the_limit) {
  Pair pair = connect();
  const std::string payload(FrameChannel::kMaximumFrame + 1, 'x');
  EXPECT_EQ(failure_of([&] { pair.channel.send(payload, soon()); }),
            FrameChannel::ProtocolError::Kind::kBroken);
}

TEST(FrameChannel, names_how_much_of_a_truncated_frame_came) {
  Pair pair = connect();
  write_raw(pair.raw, std::string("\x0a\0\0\0abc", 7));
  pair.raw.reset();
  try {
    (void)pair.channel.receive(soon());
    FAIL();
  } catch (const FrameChannel::ProtocolError& error) {
    EXPECT_EQ(error.kind(), FrameChannel::ProtocolError::Kind::kClosed);
    EXPECT_STREQ(error.what(), "the channel ended after 3 of the 10 bytes of a frame");
  }
}

TEST(FrameChannel, tells_a_truncated_length_from_the_end) {
  Pair pair = connect();
  write_raw(pair.raw, std::string("\x0a\0", 2));
  pair.raw.reset();
  EXPECT_EQ(failure_of([&] { (void)pair.channel.receive(soon()); }),
            FrameChannel::ProtocolError::Kind::kClosed);
}

TEST(FrameChannel, gives_up_at_the_deadline_when_nothing_comes) {
  Pair pair = connect();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(failure_of([&] { (void)pair.channel.receive(soon(50ms)); }),
            FrameChannel::ProtocolError::Kind::kTimedOut);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
}

TEST(FrameChannel, gives_up_at_the_deadline_when_the_other_side_does_not_read) {
  Pair pair = connect();
  const std::string payload(std::size_t{8} << 20, 'x');
  EXPECT_EQ(failure_of([&] { pair.channel.send(payload, soon(50ms)); }),
            FrameChannel::ProtocolError::Kind::kTimedOut);
}

TEST(FrameChannel, does_not_let_a_trickle_stretch_the_deadline) {
  Pair pair = connect();
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    write_raw(pair.raw, std::string("\0\x10\0\0", 4));
    while (!stop) {
      write_raw(pair.raw, "x");
      std::this_thread::sleep_for(5ms);
    }
  });
  EXPECT_EQ(failure_of([&] { (void)pair.channel.receive(soon(100ms)); }),
            FrameChannel::ProtocolError::Kind::kTimedOut);
  stop = true;
  writer.join();
}

TEST(FrameChannel, awaits_bytes_until_the_deadline_and_takes_none) {
  Pair pair = connect();
  EXPECT_FALSE(pair.channel.await_bytes(soon(20ms)));
  write_raw(pair.raw, std::string("\x01\x00\x00\x00x", 5));
  EXPECT_TRUE(pair.channel.await_bytes(soon()));
  EXPECT_EQ(pair.channel.receive(soon()), "x");
  pair.raw.reset();
  EXPECT_TRUE(pair.channel.await_bytes(soon())) << "the end can be received, too";
  EXPECT_EQ(pair.channel.receive(soon()), std::nullopt);
}

TEST(FrameChannel, reports_a_vanished_reader_instead_of_raising_sigpipe) {
  Pair pair = connect();
  pair.raw.reset();
  EXPECT_EQ(failure_of([&] { pair.channel.send("x", soon()); }),
            FrameChannel::ProtocolError::Kind::kClosed);
}

TEST(FrameChannel, goes_on_after_signals) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  Pair pair = connect();
  const pthread_t reader = ::pthread_self();
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) {
      ::pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(1ms);
    }
    write_raw(pair.raw, std::string("\x02\0\0\0ok", 6));
  });
  EXPECT_EQ(pair.channel.receive(soon()), "ok");
  writer.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace plumb::worker
