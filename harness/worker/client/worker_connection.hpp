// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "harness/base/units.hpp"
#include "harness/results/outcome.hpp"
#include "harness/worker/client/child_process.hpp"
#include "harness/worker/client/log_tail.hpp"
#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"
#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::worker {

/// Returns the time at which a time-out from now ends.
[[nodiscard]] FrameChannel::Deadline deadline_in(Seconds time);

/// Frames to and from one started worker, and what became of it. Whatever goes wrong ends the
/// worker and throws WorkerDied, now and on every further call. Not thread-safe.
class WorkerConnection {
 public:
  /// `request_timeout` bounds the wait for the answer of ask().
  WorkerConnection(std::string backend,
                   std::unique_ptr<ChildProcess> child,
                   Seconds request_timeout);
  /// Ends the worker by request, then SIGTERM, then SIGKILL.
  ~WorkerConnection();
  WorkerConnection(WorkerConnection&&) = delete;
  WorkerConnection& operator=(WorkerConnection&&) = delete;
  WorkerConnection(const WorkerConnection&) = delete;
  WorkerConnection& operator=(const WorkerConnection&) = delete;

  /// Exchanges hellos. Throws WorkerDied, and Error{kEnvironment} if the worker speaks another
  /// version or is of another backend.
  void greet(const WorkerSetup& setup, Seconds timeout);

  void send(const protocol::Request& request, Seconds timeout);
  /// Receives one reply before `deadline`, and asks meanwhile whether the request shall keep
  /// running. A worker in a long call of its library cannot ask itself. `timeout`, from which the
  /// deadline was computed, is for the message. A worker that announces a long step gets the time
  /// that it asks for, up to an hour for one reply.
  [[nodiscard]] protocol::Reply receive_while(FrameChannel::Deadline deadline,
                                              Seconds timeout,
                                              const std::function<bool()>& keep_running);
  /// Sends a request that has one reply, and receives the reply.
  [[nodiscard]] protocol::Reply ask(const protocol::Request& request);

  /// Converts the one reply that is allowed here. Throws the error that the worker reported, or
  /// ends the worker.
  template <typename Read>
  std::invoke_result_t<const Read&> read(const protocol::Reply& reply,
                                         bool fits,
                                         const Read& convert) {
    try {
      if (reply.has_error()) {
        throw from_protocol(reply.error());
      }
      if (!fits) {
        throw ProtocolError(ProtocolError::Kind::kBroken, "a reply does not answer the request");
      }
      return convert();
    } catch (const ProtocolError& problem) {
      die(problem, request_timeout_);
    }
  }

  /// Ends the worker with the outcome kSkipped unless its request is still wanted.
  void stop_unless(bool wanted);

  /// Passes an answer to its receiver. If that throws, ends the worker, whose remaining answers
  /// would be taken for those to the next request.
  template <typename Answer>
  void deliver(const std::function<void(Answer)>& emit, Answer answer) {
    try {
      emit(std::move(answer));
    } catch (...) {
      end({results::Outcome::Kind::kCrashed,
           "it was stopped because its answers could not be processed"});
      throw;
    }
  }

  /// Ends the worker. Throws WorkerDied with the cause and the last line of the worker's log.
  [[noreturn]] void die(const ProtocolError& problem, Seconds timeout);

  [[nodiscard]] int pid() const { return child_->pid(); }
  [[nodiscard]] std::string log_tail() const { return log_.text(); }

 private:
  void check_hello(std::uint32_t version, const std::string& backend) const;
  [[nodiscard]] protocol::Reply receive_until(FrameChannel::Deadline deadline, Seconds timeout);
  void end(results::Outcome outcome);
  void end_politely();

  std::string backend_;
  Seconds request_timeout_;
  std::unique_ptr<ChildProcess> child_;
  LogTail log_;
  FrameChannel channel_;
  std::optional<results::Outcome> ended_;
};

}  // namespace plumb::worker
