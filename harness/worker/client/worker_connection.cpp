// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_connection.hpp"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/worker/client/child_process.hpp"

namespace plumb::worker {
namespace {

/// Time that a worker has to exit after it closed its channel or was asked to end.
constexpr Seconds kGrace{1.0};
/// Time between two questions whether a request shall keep running.
constexpr Seconds kBetweenQuestions{0.5};
/// Longest time-out, three years. It keeps a time-out of "for ever" within the clock's range.
constexpr Seconds kLongestTimeout{1e8};
/// Longest time that a worker may ask for before one reply.
constexpr Seconds kLongestStep{3600.0};

/// Checks the time that a worker asks for. Throws FrameChannel::ProtocolError{kBroken}.
void check_step(Seconds asked, Seconds already) {
  if (asked > Seconds(0) && asked + already <= kLongestStep) {
    return;
  }
  throw FrameChannel::ProtocolError(
      FrameChannel::ProtocolError::Kind::kBroken,
      fmt::format("it asks for {:g} s before its next reply, after {:g} s; allowed are {:g} s",
                  asked.count(),
                  already.count(),
                  kLongestStep.count()));
}

std::string death_text(int wait_status) {
  const std::string text = exit_text(wait_status);
  if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) {
    return text + ": perhaps out of memory";
  }
  return WIFSIGNALED(wait_status) ? text : text + " in the middle of a request";
}

}  // namespace

FrameChannel::Deadline deadline_in(Seconds time) {
  using Clock = std::chrono::steady_clock;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::min(time, kLongestTimeout));
}

WorkerConnection::WorkerConnection(std::string backend,
                                   std::unique_ptr<ChildProcess> child,
                                   Seconds request_timeout)
    : backend_(std::move(backend)),
      request_timeout_(request_timeout),
      child_(std::move(child)),
      log_(child_->take_log()),
      channel_(child_->take_channel()) {}

WorkerConnection::~WorkerConnection() {
  if (!child_->wait(Seconds(0))) {
    end_politely();
  }
}

void WorkerConnection::greet(const WorkerService::Setup& setup, Seconds timeout) {
  protocol::Request request;
  request.mutable_hello()->set_version(kProtocolVersion);
  request.set_kind(protocol::Request::HELLO);
  *request.mutable_content() = to_protocol(setup);
  try {
    send_request(request, timeout);
    const protocol::Reply reply = receive_until(deadline_in(timeout), timeout);
    if (reply.kind() == protocol::Reply::ERROR) {
      const auto error = from_protocol<WorkerService::ReportedError>(reply.content());
      throw Error(error.kind, error.text);
    }
    check_hello(reply.hello());
  } catch (const FrameChannel::ProtocolError& problem) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("the worker of backend '{}' does not start: {}", backend_, problem.what()));
  }
}

void WorkerConnection::check_hello(const protocol::Hello& hello) const {
  if (hello.version() != kProtocolVersion) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format(
            "the worker of backend '{}' speaks protocol version {} and this program {}; build or "
            "install both from one version",
            backend_,
            hello.version(),
            kProtocolVersion));
  }
  if (hello.backend() != backend_) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("plumb-worker-{} says that its backend is '{}'; reinstall it",
                            backend_,
                            hello.backend()));
  }
}

void WorkerConnection::send(protocol::Request::Kind kind, Seconds timeout) {
  send_content(kind, {}, timeout);
}

void WorkerConnection::send_content(protocol::Request::Kind kind,
                                    protocol::Content content,
                                    Seconds timeout) {
  protocol::Request request;
  request.set_kind(kind);
  *request.mutable_content() = std::move(content);
  send_request(request, timeout);
}

void WorkerConnection::send_request(const protocol::Request& request, Seconds timeout) {
  if (ended_) {
    throw WorkerDied(*ended_);
  }
  try {
    channel_.send(request.SerializeAsString(), deadline_in(timeout));
  } catch (const FrameChannel::ProtocolError& problem) {
    die(problem, timeout);
  }
}

protocol::Reply WorkerConnection::receive() {
  return receive_until(deadline_in(request_timeout_), request_timeout_);
}

protocol::Reply WorkerConnection::receive_until(FrameChannel::Deadline deadline, Seconds timeout) {
  try {
    const std::optional<std::string> frame = channel_.receive(deadline);
    if (!frame) {
      throw FrameChannel::ProtocolError(FrameChannel::ProtocolError::Kind::kClosed,
                                        "the worker closed its channel");
    }
    protocol::Reply reply;
    if (!reply.ParseFromString(*frame)) {
      throw FrameChannel::ProtocolError(
          FrameChannel::ProtocolError::Kind::kBroken,
          fmt::format("a frame of {} bytes is not a reply", frame->size()));
    }
    return reply;
  } catch (const FrameChannel::ProtocolError& problem) {
    die(problem, timeout);
  }
}

protocol::Reply WorkerConnection::receive_while(FrameChannel::Deadline deadline,
                                                Seconds timeout,
                                                const std::function<bool()>& keep_running) {
  for (Seconds announced{};;) {
    try {
      while (!channel_.await_bytes(std::min(deadline, deadline_in(kBetweenQuestions))) &&
             std::chrono::steady_clock::now() < deadline) {
        stop_unless(keep_running());
      }
    } catch (const FrameChannel::ProtocolError& problem) {
      die(problem, timeout);
    }
    protocol::Reply reply = receive_until(deadline, timeout);
    if (reply.kind() != protocol::Reply::LONG_STEP) {
      return reply;
    }
    const Seconds step = read<WorkerService::LongStep>(reply, protocol::Reply::LONG_STEP).at_most;
    try {
      check_step(step, announced);
    } catch (const FrameChannel::ProtocolError& problem) {
      die(problem, timeout);
    }
    announced += step;
    timeout = std::max(timeout, step);
    deadline = std::max(deadline, deadline_in(step));
  }
}

void WorkerConnection::stop_unless(bool wanted) {
  if (!wanted) {
    end({results::Outcome::Kind::kSkipped, "it was stopped"});
    throw WorkerDied(*ended_);
  }
}

void WorkerConnection::end(results::Outcome outcome) {
  child_->kill();
  ended_ = std::move(outcome);
}

void WorkerConnection::die(const FrameChannel::ProtocolError& problem, Seconds timeout) {
  results::Outcome outcome{results::Outcome::Kind::kCrashed, {}};
  switch (problem.kind()) {
    case FrameChannel::ProtocolError::Kind::kTimedOut:
      outcome = {results::Outcome::Kind::kTimedOut,
                 fmt::format("no answer for {} s", timeout.count())};
      child_->kill();
      break;
    case FrameChannel::ProtocolError::Kind::kClosed:
      if (const std::optional<int> status = child_->wait(kGrace)) {
        outcome.reason = death_text(*status);
      } else {
        outcome.reason = fmt::format("it violated the protocol: {}", problem.what());
      }
      child_->kill();
      break;
    case FrameChannel::ProtocolError::Kind::kBroken:
      outcome.reason = fmt::format("it violated the protocol: {}", problem.what());
      child_->kill();
      break;
  }
  log_.drain();
  if (const std::string words = log_.last_line(); !words.empty()) {
    outcome.reason += fmt::format("; its last line of output: {}", words);
  }
  ended_ = outcome;
  throw WorkerDied(std::move(outcome));
}

void WorkerConnection::end_politely() {
  try {
    protocol::Request request;
    request.set_kind(protocol::Request::SHUTDOWN);
    channel_.send(request.SerializeAsString(), deadline_in(Seconds(0)));
  } catch (const FrameChannel::ProtocolError&) {
    // It is gone, or too busy to read.
  }
  channel_.close();
  if (!child_->wait(kGrace * 0.5)) {
    child_->ask_to_end();
    child_->wait(kGrace);
  }
}

}  // namespace plumb::worker
