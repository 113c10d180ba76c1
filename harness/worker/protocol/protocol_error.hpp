// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace plumb::worker {

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

}  // namespace plumb::worker
