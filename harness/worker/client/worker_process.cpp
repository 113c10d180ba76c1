// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_process.hpp"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <type_traits>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/worker/client/child_process.hpp"
#include "harness/worker/client/log_tail.hpp"
#include "harness/worker/client/started_facts.hpp"
#include "harness/worker/client/worker_environment.hpp"
#include "harness/worker/client/worker_finder.hpp"
#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/path_list.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

/// Limit of the rows of one request: far above variants × cache modes × attempts of any key.
constexpr int kMaximumRows = 1'000'000;
/// Time that a worker has to exit after it closed its channel or was asked to end.
constexpr Seconds kGrace{1.0};
/// Time between two questions whether a request shall keep running.
constexpr Seconds kBetweenQuestions{0.5};
/// Longest time-out, three years. It keeps a time-out of "for ever" within the clock's range.
constexpr Seconds kLongestTimeout{1e8};

FrameChannel::Deadline deadline_in(Seconds time) {
  using Clock = std::chrono::steady_clock;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::min(time, kLongestTimeout));
}

std::vector<std::string> loader_arguments(const Stack& stack, const std::string& worker) {
  std::vector<std::string> arguments;
  if (!stack.folders.empty()) {
    arguments = {"--library-path", join_paths(stack.folders)};
  }
  arguments.push_back(worker);
  return arguments;
}

std::unique_ptr<ChildProcess> start(const WorkerOptions& options) {
  const Stack& stack = options.stack;
  const std::string worker = find_worker(stack.backend, options.search_path).string();
  const std::vector<std::string> environment =
      worker_environment(stack, options.threads, ChildProcess::kChannel, ::environ);
  if (stack.loader.empty()) {
    return std::make_unique<ChildProcess>(worker, std::vector<std::string>{}, environment);
  }
  return std::make_unique<ChildProcess>(
      stack.loader.string(), loader_arguments(stack, worker), environment);
}

}  // namespace

class WorkerProcess::Implementation {
 public:
  explicit Implementation(const WorkerOptions& options)
      : backend_(options.stack.backend),
        options_(options),
        request_timeout_(options.request_timeout),
        child_(start(options)),
        log_(child_->take_log()),
        channel_(child_->take_channel()) {
    greet(options.start_timeout);
  }

  ~Implementation() {
    if (!child_->wait(Seconds(0))) {
      end_politely();
    }
  }
  Implementation(Implementation&&) = delete;
  Implementation& operator=(Implementation&&) = delete;
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  results::Environment describe() {
    protocol::Request request;
    request.mutable_describe();
    const protocol::Reply reply = ask(request);
    results::Environment environment =
        read(reply, reply.has_environment(), [&] { return from_protocol(reply.environment()); });
    environment.facts.merge(started_facts(options_, ::environ));
    environment.identity.merge(stack_identity(options_.stack));
    return environment;
  }

  std::vector<Variant> variants(const model::LayerKey& key) {
    protocol::Request request;
    *request.mutable_variants() = to_protocol(key);
    const protocol::Reply reply = ask(request);
    return read(reply, reply.has_variants(), [&] { return from_protocol(reply.variants()); });
  }

  results::Calibration calibrate() {
    protocol::Request request;
    request.mutable_calibrate();
    const protocol::Reply reply = ask(request);
    return read(reply, reply.has_calibration(), [&] { return from_protocol(reply.calibration()); });
  }

  void begin_execution(const ExecuteRequest& execute,
                       Seconds timeout,
                       std::function<void(results::Execution)> emit,
                       const std::function<bool(const ExecuteProgress&)>& keep_running) {
    protocol::Request request;
    ExecuteRequest asked = execute;
    asked.host_pace = options_.pace->seconds();
    *request.mutable_execute() = to_protocol(asked);
    send(request, timeout);
    const auto last = std::make_shared<ExecuteProgress>();
    running_ = {
        .timeout = timeout,
        .take_in =
            [this, last, emit = std::move(emit), keep_running, modes = execute.modes.size()](
                const protocol::Reply& reply) mutable {
              if (reply.has_execute_progress()) {
                const ExecuteProgress progress =
                    read(reply, true, [&] { return from_protocol(reply.execute_progress()); });
                stop_unless(keep_running(progress));
                // A report alone is not progress: a model that hangs must not hang the harness.
                const bool further = progress.share > last->share;
                *last = further ? progress : *last;
                return further;
              }
              results::Execution execution = read(reply, reply.has_execution() && modes-- > 0, [&] {
                return from_protocol(reply.execution());
              });
              options_.pace->take_in(execution.row);
              deliver(emit, std::move(execution));
              return true;
            },
        .keep_running = [last, keep_running] { return keep_running(*last); }};
  }

  void begin_measurement(const MeasureRequest& measure,
                         Seconds timeout,
                         std::function<void(results::Measurement)> emit) {
    protocol::Request request;
    MeasureRequest asked = measure;
    asked.host_pace = options_.pace->seconds();
    *request.mutable_measure() = to_protocol(asked);
    send(request, timeout);
    running_ = {.timeout = timeout,
                .take_in =
                    [this, emit = std::move(emit), key = measure.key, rows = 0](
                        const protocol::Reply& reply) mutable {
                      results::Measurement row = read(reply,
                                                      reply.has_row() && rows++ < kMaximumRows,
                                                      [&] { return from_protocol(reply.row()); });
                      if (row.key != key) {
                        die(ProtocolError(ProtocolError::Kind::kBroken,
                                          "a row has a different key than the requested one"),
                            running_.timeout);
                      }
                      options_.pace->take_in(row);
                      deliver(emit, std::move(row));
                      return true;
                    },
                .keep_running = [] { return true; }};
  }

  bool take_turn() {
    if (running_.awaits_turn) {
      running_.awaits_turn = false;
      protocol::Request request;
      request.mutable_take_turn();
      send(request, running_.timeout);
    }
    FrameChannel::Deadline deadline = deadline_in(running_.timeout);
    while (true) {
      const protocol::Reply reply =
          receive_while(deadline, running_.timeout, running_.keep_running);
      if (reply.has_done()) {
        running_ = {};
        return false;
      }
      if (reply.has_awaits_turn()) {
        running_.awaits_turn = true;
        return true;
      }
      if (running_.take_in(reply)) {
        deadline = deadline_in(running_.timeout);
      }
    }
  }

  results::EngineChoices preview(const PreviewRequest& preview) {
    protocol::Request request;
    *request.mutable_preview() = to_protocol(preview);
    const protocol::Reply reply = ask(request);
    results::EngineChoices choices =
        read(reply, reply.has_choices(), [&] { return from_protocol(reply.choices()); });
    if (choices.key != preview.key) {
      die(ProtocolError(ProtocolError::Kind::kBroken,
                        "choices are for a different key than the requested one"),
          request_timeout_);
    }
    return choices;
  }

  Reproducer reproduce(const ReproducerRequest& reproduce) {
    protocol::Request request;
    *request.mutable_reproduce() = to_protocol(reproduce);
    const protocol::Reply reply = ask(request);
    return read(reply, reply.has_reproducer(), [&] { return from_protocol(reply.reproducer()); });
  }

  results::ScenarioResult load(const LoadRequest& load,
                               Seconds timeout,
                               const std::function<bool(const LoadProgress&)>& keep_running) {
    protocol::Request request;
    *request.mutable_load() = to_protocol(load);
    send(request, timeout);
    FrameChannel::Deadline deadline = deadline_in(timeout);
    LoadProgress last;
    while (true) {
      const protocol::Reply reply =
          receive_while(deadline, timeout, [&] { return keep_running(last); });
      if (!reply.has_load_progress()) {
        return read(reply, reply.has_load(), [&] { return from_protocol(reply.load()); });
      }
      const LoadProgress progress =
          read(reply, true, [&] { return from_protocol(reply.load_progress()); });
      stop_unless(keep_running(progress));
      // A report alone is not progress: a model that hangs must not hang the harness.
      if (progress.batches != last.batches || progress.phase != last.phase) {
        deadline = deadline_in(timeout);
        last = progress;
      }
    }
  }

  [[nodiscard]] int pid() const { return child_->pid(); }
  [[nodiscard]] std::string log_tail() const { return log_.text(); }

 private:
  /// Request that is answered by more than one reply, between its turns.
  struct RunningRequest {
    Seconds timeout{60.0};                                     ///< of silence
    std::function<bool(const protocol::Reply&)> take_in = {};  ///< returns whether it is progress
    std::function<bool()> keep_running = {};
    bool awaits_turn = false;  ///< the worker was not yet told to go on
  };

  void stop_unless(bool wanted) {
    if (!wanted) {
      child_->kill();
      ended_ = results::Outcome{results::Outcome::Kind::kSkipped, "it was stopped"};
      throw WorkerDied(*ended_);
    }
  }

  template <typename Answer>
  void deliver(const std::function<void(Answer)>& emit, Answer answer) {
    try {
      emit(std::move(answer));
    } catch (...) {
      // The remaining answers would be taken for those to the next request.
      child_->kill();
      ended_ = results::Outcome{results::Outcome::Kind::kCrashed,
                                "it was stopped because its answers could not be processed"};
      throw;
    }
  }

  void greet(Seconds timeout) {
    protocol::Request request;
    request.mutable_hello()->set_version(kProtocolVersion);
    *request.mutable_hello()->mutable_setup() =
        to_protocol({options_.stack.libraries, options_.threads, options_.observe, options_.place});
    try {
      send(request, timeout);
      const protocol::Reply reply = receive(timeout);
      if (reply.has_error()) {
        throw from_protocol(reply.error());
      }
      check_hello(reply.hello().version(), reply.hello().backend());
    } catch (const WorkerDied& death) {
      throw Error(
          Error::Kind::kEnvironment,
          fmt::format("the worker of backend '{}' does not start: {}; see what `plumb doctor` says",
                      backend_,
                      death.outcome().reason));
    } catch (const ProtocolError& problem) {
      throw Error(
          Error::Kind::kEnvironment,
          fmt::format("the worker of backend '{}' does not start: {}", backend_, problem.what()));
    }
  }

  void check_hello(std::uint32_t version, const std::string& backend) const {
    if (version != kProtocolVersion) {
      throw Error(
          Error::Kind::kEnvironment,
          fmt::format(
              "the worker of backend '{}' speaks protocol version {} and this program {}; build or "
              "install both from one version",
              backend_,
              version,
              kProtocolVersion));
    }
    if (backend != backend_) {
      throw Error(
          Error::Kind::kEnvironment,
          fmt::format(
              "plumb-worker-{} says that its backend is '{}'; reinstall it", backend_, backend));
    }
  }

  void send(const protocol::Request& request, Seconds timeout) {
    if (ended_) {
      throw WorkerDied(*ended_);
    }
    try {
      channel_.send(request.SerializeAsString(), deadline_in(timeout));
    } catch (const ProtocolError& problem) {
      die(problem, timeout);
    }
  }

  protocol::Reply receive(Seconds timeout) { return receive_until(deadline_in(timeout), timeout); }

  /// Receives one reply before `deadline`. `timeout`, from which the deadline was computed, is for
  /// the message.
  protocol::Reply receive_until(FrameChannel::Deadline deadline, Seconds timeout) {
    try {
      const std::optional<std::string> frame = channel_.receive(deadline);
      if (!frame) {
        throw ProtocolError(ProtocolError::Kind::kClosed, "the worker closed its channel");
      }
      protocol::Reply reply;
      if (!reply.ParseFromString(*frame)) {
        throw ProtocolError(ProtocolError::Kind::kBroken,
                            fmt::format("a frame of {} bytes is not a reply", frame->size()));
      }
      return reply;
    } catch (const ProtocolError& problem) {
      die(problem, timeout);
    }
  }

  /// Receives one reply before `deadline`, and asks meanwhile whether the request shall keep
  /// running. A worker in a long call of its library cannot ask itself.
  protocol::Reply receive_while(FrameChannel::Deadline deadline,
                                Seconds timeout,
                                const std::function<bool()>& keep_running) {
    try {
      while (!channel_.await_bytes(std::min(deadline, deadline_in(kBetweenQuestions))) &&
             std::chrono::steady_clock::now() < deadline) {
        stop_unless(keep_running());
      }
    } catch (const ProtocolError& problem) {
      die(problem, timeout);
    }
    return receive_until(deadline, timeout);
  }

  protocol::Reply ask(const protocol::Request& request) {
    send(request, request_timeout_);
    return receive(request_timeout_);
  }

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

  /// Ends the worker. Throws WorkerDied with the cause and the last line of the worker's log.
  [[noreturn]] void die(const ProtocolError& problem, Seconds timeout) {
    results::Outcome outcome{results::Outcome::Kind::kCrashed, {}};
    switch (problem.kind()) {
      case ProtocolError::Kind::kTimedOut:
        outcome = {results::Outcome::Kind::kTimedOut,
                   fmt::format("no answer for {} s", timeout.count())};
        child_->kill();
        break;
      case ProtocolError::Kind::kClosed:
        if (const std::optional<int> status = child_->wait(kGrace)) {
          outcome.reason = death_text(*status);
        } else {
          outcome.reason = fmt::format("it violated the protocol: {}", problem.what());
        }
        child_->kill();
        break;
      case ProtocolError::Kind::kBroken:
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

  static std::string death_text(int wait_status) {
    const std::string text = exit_text(wait_status);
    if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) {
      return text + ": perhaps out of memory";
    }
    return WIFSIGNALED(wait_status) ? text : text + " in the middle of a request";
  }

  void end_politely() {
    try {
      protocol::Request request;
      request.mutable_shutdown();
      channel_.send(request.SerializeAsString(), deadline_in(Seconds(0)));
    } catch (const ProtocolError&) {
      // It is gone, or too busy to read.
    }
    channel_.close();
    if (!child_->wait(kGrace * 0.5)) {
      child_->ask_to_end();
      child_->wait(kGrace);
    }
  }

  std::string backend_;
  WorkerOptions options_;
  Seconds request_timeout_;
  std::unique_ptr<ChildProcess> child_;
  LogTail log_;
  FrameChannel channel_;
  std::optional<results::Outcome> ended_;
  RunningRequest running_;
};

WorkerProcess::WorkerProcess(const WorkerOptions& options)
    : implementation_(std::make_unique<Implementation>(options)) {}
WorkerProcess::~WorkerProcess() = default;
WorkerProcess::WorkerProcess(WorkerProcess&&) noexcept = default;
WorkerProcess& WorkerProcess::operator=(WorkerProcess&&) noexcept = default;

results::Environment WorkerProcess::describe() {
  return implementation_->describe();
}
std::vector<Variant> WorkerProcess::variants(const model::LayerKey& key) {
  return implementation_->variants(key);
}
results::Calibration WorkerProcess::calibrate() {
  return implementation_->calibrate();
}
results::EngineChoices WorkerProcess::preview(const PreviewRequest& request) {
  return implementation_->preview(request);
}
Reproducer WorkerProcess::reproduce(const ReproducerRequest& request) {
  return implementation_->reproduce(request);
}
void WorkerProcess::measure(const MeasureRequest& request,
                            Seconds timeout,
                            const std::function<void(results::Measurement)>& emit) {
  begin_measurement(request, timeout, emit);
  while (take_turn()) {
  }
}
void WorkerProcess::execute(const ExecuteRequest& request,
                            Seconds timeout,
                            const std::function<void(results::Execution)>& emit,
                            const std::function<bool(const ExecuteProgress&)>& keep_running) {
  begin_execution(request, timeout, emit, keep_running);
  while (take_turn()) {
  }
}
void WorkerProcess::begin_measurement(const MeasureRequest& request,
                                      Seconds timeout,
                                      std::function<void(results::Measurement)> emit) {
  implementation_->begin_measurement(request, timeout, std::move(emit));
}
void WorkerProcess::begin_execution(
    const ExecuteRequest& request,
    Seconds timeout,
    std::function<void(results::Execution)> emit,
    const std::function<bool(const ExecuteProgress&)>& keep_running) {
  implementation_->begin_execution(request, timeout, std::move(emit), keep_running);
}
bool WorkerProcess::take_turn() {
  return implementation_->take_turn();
}
results::ScenarioResult WorkerProcess::load(
    const LoadRequest& request,
    Seconds timeout,
    const std::function<bool(const LoadProgress&)>& keep_running) {
  return implementation_->load(request, timeout, keep_running);
}
int WorkerProcess::pid() const {
  return implementation_->pid();
}
std::string WorkerProcess::log_tail() const {
  return implementation_->log_tail();
}

Error lost_worker(const WorkerDied& death, const std::string& what) {
  return {Error::Kind::kEnvironment,
          fmt::format("the worker was lost while {}: {}; check that nothing kills it, that memory "
                      "is free and that --row-timeout is long enough, then try again",
                      what,
                      death.outcome().reason)};
}

}  // namespace plumb::worker
