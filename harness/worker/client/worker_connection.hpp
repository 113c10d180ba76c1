// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "harness/base/units.hpp"
#include "harness/results/measurement.hpp"
#include "harness/worker/client/child_process.hpp"
#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {

/// Returns the time at which a time-out from now ends.
[[nodiscard]] FrameChannel::Deadline deadline_in(Seconds time);

/// Frames to and from one started worker, and what became of it. Whatever goes wrong ends the
/// worker and throws WorkerDied, now and on every further call. Not thread-safe.
class WorkerConnection {
 public:
  /// `request_timeout` bounds the wait of receive().
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
  void greet(const WorkerService::Setup& setup, Seconds timeout);

  /// Sends a request of a kind that says all.
  void send(protocol::Request::Kind kind, Seconds timeout);
  /// Sends a request with its value.
  template <typename Value>
  void send(protocol::Request::Kind kind, const Value& value, Seconds timeout) {
    send_content(kind, to_protocol(value), timeout);
  }
  /// Receives one reply before `deadline`, and asks meanwhile whether the request shall keep
  /// running. A worker in a long call of its library cannot ask itself. `timeout`, from which the
  /// deadline was computed, is for the message. A worker that announces a long step gets the time
  /// that it asks for, up to an hour for one reply.
  [[nodiscard]] protocol::Reply receive_while(FrameChannel::Deadline deadline,
                                              Seconds timeout,
                                              const std::function<bool()>& keep_running);
  /// Receives the one reply to the request that was sent.
  [[nodiscard]] protocol::Reply receive();

  /// Reads the value of a reply, which must be of a kind that is allowed here. Throws the error
  /// that the worker reported, or ends the worker.
  template <typename Value>
  Value read(const protocol::Reply& reply, protocol::Reply::Kind kind, bool allowed = true) {
    try {
      if (reply.kind() == protocol::Reply::ERROR) {
        const auto error = from_protocol<WorkerService::ReportedError>(reply.content());
        throw Error(error.kind, error.text);
      }
      if (reply.kind() != kind || !allowed) {
        throw FrameChannel::ProtocolError(FrameChannel::ProtocolError::Kind::kBroken,
                                          "a reply does not answer the request");
      }
      return from_protocol<Value>(reply.content());
    } catch (const FrameChannel::ProtocolError& problem) {
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
  [[noreturn]] void die(const FrameChannel::ProtocolError& problem, Seconds timeout);

  [[nodiscard]] int pid() const { return child_->pid(); }
  [[nodiscard]] std::string log_tail() const { return log_.text(); }

 private:
  void check_hello(const protocol::Hello& hello) const;
  void send_content(protocol::Request::Kind kind, protocol::Content content, Seconds timeout);
  void send_request(const protocol::Request& request, Seconds timeout);
  [[nodiscard]] protocol::Reply receive_until(FrameChannel::Deadline deadline, Seconds timeout);
  void end(results::Outcome outcome);
  void end_politely();

  std::string backend_;
  Seconds request_timeout_;
  std::unique_ptr<ChildProcess> child_;
  ChildProcess::Log log_;
  FrameChannel channel_;
  std::optional<results::Outcome> ended_;
};

}  // namespace plumb::worker
