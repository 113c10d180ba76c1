// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/frame_channel.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

namespace plumb::worker {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kPiece = std::size_t{256} << 10;

std::string length_prefix(std::size_t size) {
  std::string prefix(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    prefix[i] = static_cast<char>(static_cast<unsigned char>(size >> (8 * i)));
  }
  return prefix;
}

std::size_t parse_length(std::string_view prefix) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    size |= static_cast<std::size_t>(static_cast<unsigned char>(prefix[i])) << (8 * i);
  }
  return size;
}

int milliseconds_until(FrameChannel::Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

bool would_block(int error) {
  // EAGAIN and EWOULDBLOCK are one number on Linux, and the compiler warns about comparing twice.
  return error == EAGAIN;
}

[[noreturn]] void fail_closed(const char* what, int error) {
  throw FrameChannel::ProtocolError(FrameChannel::ProtocolError::Kind::kClosed,
                                    fmt::format("{}: {}", what, std::strerror(error)));
}

[[noreturn]] void fail_oversize(std::size_t size) {
  throw FrameChannel::ProtocolError(
      FrameChannel::ProtocolError::Kind::kBroken,
      fmt::format(
          "a frame of {} bytes is above the limit of {}", size, FrameChannel::kMaximumFrame));
}

}  // namespace

void FrameChannel::send(std::string_view payload, std::optional<Deadline> deadline) {
  if (payload.size() > kMaximumFrame) {
    fail_oversize(payload.size());
  }
  std::string frame = length_prefix(payload.size());
  frame.append(payload);
  send_all(frame, deadline);
}

std::optional<std::string> FrameChannel::receive(std::optional<Deadline> deadline) {
  std::string prefix;
  receive_into(prefix, kLengthBytes, deadline);
  if (prefix.empty()) {
    return std::nullopt;
  }
  if (prefix.size() < kLengthBytes) {
    throw FrameChannel::ProtocolError(
        FrameChannel::ProtocolError::Kind::kClosed,
        fmt::format(
            "the channel ended after {} of the {} bytes of a length", prefix.size(), kLengthBytes));
  }
  const std::size_t size = parse_length(prefix);
  if (size > kMaximumFrame) {
    fail_oversize(size);
  }
  std::string payload;
  receive_into(payload, size, deadline);
  if (payload.size() < size) {
    throw FrameChannel::ProtocolError(
        FrameChannel::ProtocolError::Kind::kClosed,
        fmt::format("the channel ended after {} of the {} bytes of a frame", payload.size(), size));
  }
  return payload;
}

void FrameChannel::send_all(std::string_view bytes, std::optional<Deadline> deadline) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (would_block(errno)) {
      wait_for(POLLOUT, deadline);
    } else if (errno != EINTR) {
      fail_closed("cannot send a frame", errno);
    }
  }
}

void FrameChannel::receive_into(std::string& buffer,
                                std::size_t count,
                                std::optional<Deadline> deadline) {
  std::size_t filled = 0;
  while (filled < count) {
    // In pieces: a false length must not take memory for bytes that never arrive.
    buffer.resize(filled + std::min(count - filled, kPiece));
    const ssize_t got =
        ::recv(socket_.number(), buffer.data() + filled, buffer.size() - filled, MSG_DONTWAIT);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (got == 0 || (errno == ECONNRESET && filled == 0)) {
      break;
    } else if (would_block(errno)) {
      wait_for(POLLIN, deadline);
    } else if (errno != EINTR) {
      fail_closed("cannot receive a frame", errno);
    }
  }
  buffer.resize(filled);
}

bool FrameChannel::await_bytes(Deadline deadline) {
  char byte = 0;
  do {
    const ssize_t got = ::recv(socket_.number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got >= 0 || (!would_block(errno) && errno != EINTR)) {
      return true;  // receive() tells what has happened
    }
  } while (poll_once(POLLIN, deadline));
  return false;
}

bool FrameChannel::poll_once(short events, std::optional<Deadline> deadline) {
  pollfd waited{socket_.number(), events, 0};
  const int timeout = deadline ? milliseconds_until(*deadline) : -1;
  if (timeout == 0) {
    return false;
  }
  const int ready = ::poll(&waited, 1, timeout);
  if (ready < 0 && errno != EINTR) {
    fail_closed("cannot wait for the channel", errno);
  }
  return true;
}

void FrameChannel::wait_for(short events, std::optional<Deadline> deadline) {
  if (!poll_once(events, deadline)) {
    throw FrameChannel::ProtocolError(FrameChannel::ProtocolError::Kind::kTimedOut,
                                      "the deadline passed");
  }
}

}  // namespace plumb::worker
