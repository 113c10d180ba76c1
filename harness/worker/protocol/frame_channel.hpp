// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/base/file_io.hpp"

namespace plumb::worker {

/// Channel for frames over a stream socket: a 32-bit little-endian length, then that many bytes.
///
/// It tolerates partial reads and writes, interruptions and a hostile other side. Lengths are
/// bounded, and memory grows only with bytes that arrived. A deadline bounds a whole frame, so that
/// a slow trickle cannot extend it. Never raises SIGPIPE. Not thread-safe.
class FrameChannel {
 public:
  /// Error of a worker's channel: the other side went away, fell silent or broke the protocol. It
  /// never leaves this module. WorkerProcess converts it to WorkerDied, and the worker's own loop
  /// ends on it.
  class ProtocolError : public std::runtime_error {
   public:
    enum class Kind {
      kClosed,    ///< the other side closed the channel in the middle of a frame, or is gone
      kTimedOut,  ///< the deadline passed
      kBroken,    ///< what came is not a frame, not a message, or not allowed here
    };

    ProtocolError(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
    [[nodiscard]] Kind kind() const noexcept { return kind_; }

   private:
    Kind kind_;
  };

  static constexpr std::size_t kMaximumFrame = std::size_t{64}
                                               << 20;  ///< bytes, without the length
  using Deadline = std::chrono::steady_clock::time_point;

  /// Takes over one end of a connected stream socket.
  explicit FrameChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  /// Sends one frame. Without a deadline it waits as long as the other side lives. Throws
  /// ProtocolError: kBroken above kMaximumFrame, kTimedOut, kClosed.
  void send(std::string_view payload, std::optional<Deadline> deadline);

  /// Receives one frame. Empty: the other side closed the channel between two frames. Throws
  /// ProtocolError: kBroken above kMaximumFrame, kTimedOut, kClosed in the middle of a frame.
  [[nodiscard]] std::optional<std::string> receive(std::optional<Deadline> deadline);

  /// Waits until something can be received, which may be the end of the channel. Returns false if
  /// there is nothing by the deadline. Throws ProtocolError{kClosed} if the channel cannot be
  /// waited for.
  [[nodiscard]] bool await_bytes(Deadline deadline);

  /// Closes this end. The other side sees the end of the stream.
  void close() { socket_.reset(); }

 private:
  void send_all(std::string_view bytes, std::optional<Deadline> deadline);
  /// Appends up to `count` bytes to `buffer`; fewer only at the end of the stream.
  void receive_into(std::string& buffer, std::size_t count, std::optional<Deadline> deadline);
  /// Waits for one of `events`, or a signal. Returns false if the deadline has passed already.
  bool poll_once(short events, std::optional<Deadline> deadline);
  void wait_for(short events, std::optional<Deadline> deadline);

  FileDescriptor socket_;
};

}  // namespace plumb::worker
