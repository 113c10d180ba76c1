// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/worker/client/child_process.hpp"
#include "harness/worker/client/started_facts.hpp"
#include "harness/worker/client/worker_connection.hpp"
#include "harness/worker/client/worker_environment.hpp"
#include "harness/worker/client/worker_finder.hpp"
#include "harness/worker/protocol/path_list.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

/// Limit of the rows of one request: far above variants × cache modes × attempts of any key.
constexpr int kMaximumRows = 1'000'000;

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

/// Starts a worker and exchanges hellos with it. One that dies meanwhile is started once more: what
/// killed it may have been outside of it.
std::unique_ptr<WorkerConnection> connect(const WorkerOptions& options) {
  const WorkerSetup setup{options.stack.libraries,
                          options.threads,
                          options.observe,
                          options.place,
                          options.device,
                          options.takes_turns};
  for (bool first = true;; first = false) {
    auto connection = std::make_unique<WorkerConnection>(
        options.stack.backend, start(options), options.request_timeout);
    try {
      connection->greet(setup, options.start_timeout);
      return connection;
    } catch (const WorkerDied& death) {
      const results::Outcome& outcome = death.outcome();
      if (!first || outcome.kind != results::Outcome::Kind::kCrashed) {
        throw Error(Error::Kind::kEnvironment,
                    fmt::format("the worker of backend '{}' does not start: {}; see what `plumb "
                                "doctor` says",
                                options.stack.backend,
                                outcome.reason));
      }
    }
  }
}

}  // namespace

class WorkerProcess::Implementation {
 public:
  explicit Implementation(const WorkerOptions& options)
      : options_(options), connection_(connect(options)) {}

  results::Environment describe() {
    protocol::Request request;
    request.mutable_describe();
    const protocol::Reply reply = connection_->ask(request);
    results::Environment environment = connection_->read(
        reply, reply.has_environment(), [&] { return from_protocol(reply.environment()); });
    environment.facts.merge(started_facts(options_, ::environ));
    environment.identity.merge(stack_identity(options_.stack));
    return environment;
  }

  std::vector<Variant> variants(const model::LayerKey& key) {
    protocol::Request request;
    *request.mutable_variants() = to_protocol(key);
    const protocol::Reply reply = connection_->ask(request);
    return connection_->read(
        reply, reply.has_variants(), [&] { return from_protocol(reply.variants()); });
  }

  results::Calibration calibrate() {
    protocol::Request request;
    request.mutable_calibrate();
    const protocol::Reply reply = connection_->ask(request);
    return connection_->read(
        reply, reply.has_calibration(), [&] { return from_protocol(reply.calibration()); });
  }

  void begin_execution(const ExecuteRequest& execute,
                       Seconds timeout,
                       std::function<void(results::Execution)> emit,
                       const std::function<bool(const ExecuteProgress&)>& keep_running) {
    protocol::Request request;
    ExecuteRequest asked = execute;
    asked.host_pace = options_.pace->seconds();
    *request.mutable_execute() = to_protocol(asked);
    connection_->send(request, timeout);
    const auto last = std::make_shared<ExecuteProgress>();
    running_ = {
        .timeout = timeout,
        .take_in =
            [this, last, emit = std::move(emit), keep_running, modes = execute.modes.size()](
                const protocol::Reply& reply) mutable {
              if (reply.has_execute_progress()) {
                const ExecuteProgress progress = connection_->read(
                    reply, true, [&] { return from_protocol(reply.execute_progress()); });
                connection_->stop_unless(keep_running(progress));
                // A report alone is not progress: a model that hangs must not hang the harness.
                const bool further = progress.share > last->share;
                *last = further ? progress : *last;
                return further;
              }
              results::Execution execution =
                  connection_->read(reply, reply.has_execution() && modes-- > 0, [&] {
                    return from_protocol(reply.execution());
                  });
              options_.pace->take_in(execution.row);
              connection_->deliver(emit, std::move(execution));
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
    connection_->send(request, timeout);
    running_ = {.timeout = timeout,
                .take_in =
                    [this, emit = std::move(emit), key = measure.key, rows = 0](
                        const protocol::Reply& reply) mutable {
                      results::Measurement row =
                          connection_->read(reply, reply.has_row() && rows++ < kMaximumRows, [&] {
                            return from_protocol(reply.row());
                          });
                      if (row.key != key) {
                        connection_->die(
                            ProtocolError(ProtocolError::Kind::kBroken,
                                          "a row has a different key than the requested one"),
                            running_.timeout);
                      }
                      options_.pace->take_in(row);
                      connection_->deliver(emit, std::move(row));
                      return true;
                    },
                .keep_running = [] { return true; }};
  }

  bool take_turn() {
    if (running_.awaits_turn) {
      running_.awaits_turn = false;
      protocol::Request request;
      request.mutable_take_turn();
      connection_->send(request, running_.timeout);
    }
    FrameChannel::Deadline deadline = deadline_in(running_.timeout);
    while (true) {
      const protocol::Reply reply =
          connection_->receive_while(deadline, running_.timeout, running_.keep_running);
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
    const protocol::Reply reply = connection_->ask(request);
    results::EngineChoices choices = connection_->read(
        reply, reply.has_choices(), [&] { return from_protocol(reply.choices()); });
    if (choices.key != preview.key) {
      connection_->die(ProtocolError(ProtocolError::Kind::kBroken,
                                     "choices are for a different key than the requested one"),
                       options_.request_timeout);
    }
    return choices;
  }

  Reproducer reproduce(const ReproducerRequest& reproduce) {
    protocol::Request request;
    *request.mutable_reproduce() = to_protocol(reproduce);
    const protocol::Reply reply = connection_->ask(request);
    return connection_->read(
        reply, reply.has_reproducer(), [&] { return from_protocol(reply.reproducer()); });
  }

  Trace trace(const TraceRequest& trace,
              Seconds timeout,
              const std::function<bool()>& keep_running) {
    protocol::Request request;
    *request.mutable_trace() = to_protocol(trace);
    const protocol::Reply reply = ask_while(request, timeout, keep_running);
    return connection_->read(
        reply, reply.has_trace(), [&] { return from_protocol(reply.trace()); });
  }

  Alternation alternate(const AlternateRequest& alternate,
                        Seconds timeout,
                        const std::function<bool()>& keep_running) {
    protocol::Request request;
    *request.mutable_alternate() = to_protocol(alternate);
    const protocol::Reply reply = ask_while(request, timeout, keep_running);
    Alternation alternation = connection_->read(
        reply, reply.has_alternation(), [&] { return from_protocol(reply.alternation()); });
    if (alternation.seconds.size() != alternate.order.size()) {
      connection_->die(ProtocolError(ProtocolError::Kind::kBroken,
                                     "an alternation has another number of times than asked for"),
                       timeout);
    }
    return alternation;
  }

  Profile profile(const ProfileRequest& profile,
                  Seconds timeout,
                  const std::function<bool()>& keep_running) {
    protocol::Request request;
    *request.mutable_profile() = to_protocol(profile);
    const protocol::Reply reply = ask_while(request, timeout, keep_running);
    return connection_->read(
        reply, reply.has_profile(), [&] { return from_protocol(reply.profile()); });
  }

  Profile take_samples(const results::ExecutionMode& mode, Seconds timeout) {
    protocol::Request request;
    request.mutable_take_samples()->set_mode(to_text(mode));
    const protocol::Reply reply = ask_while(request, timeout, [] { return true; });
    return connection_->read(
        reply, reply.has_profile(), [&] { return from_protocol(reply.profile()); });
  }

  bool export_model(const ExportRequest& wanted,
                    Seconds timeout,
                    const std::function<bool()>& keep_running) {
    protocol::Request request;
    *request.mutable_export_model() = to_protocol(wanted);
    const protocol::Reply reply = ask_while(request, timeout, keep_running);
    return connection_->read(
        reply, reply.has_exported(), [&] { return reply.exported().written(); });
  }

  results::ScenarioResult load(const LoadRequest& load,
                               Seconds timeout,
                               const std::function<bool(const LoadProgress&)>& keep_running) {
    protocol::Request request;
    *request.mutable_load() = to_protocol(load);
    connection_->send(request, timeout);
    FrameChannel::Deadline deadline = deadline_in(timeout);
    LoadProgress last;
    while (true) {
      const protocol::Reply reply =
          connection_->receive_while(deadline, timeout, [&] { return keep_running(last); });
      if (!reply.has_load_progress()) {
        return connection_->read(
            reply, reply.has_load(), [&] { return from_protocol(reply.load()); });
      }
      const LoadProgress progress =
          connection_->read(reply, true, [&] { return from_protocol(reply.load_progress()); });
      connection_->stop_unless(keep_running(progress));
      // A report alone is not progress: a model that hangs must not hang the harness.
      if (progress.batches != last.batches || progress.phase != last.phase) {
        deadline = deadline_in(timeout);
        last = progress;
      }
    }
  }

  [[nodiscard]] int pid() const { return connection_->pid(); }
  [[nodiscard]] std::string log_tail() const { return connection_->log_tail(); }

 private:
  /// Request that is answered by more than one reply, between its turns.
  struct RunningRequest {
    Seconds timeout{60.0};                                     ///< of silence
    std::function<bool(const protocol::Reply&)> take_in = {};  ///< returns whether it is progress
    std::function<bool()> keep_running = {};
    bool awaits_turn = false;  ///< the worker was not yet told to go on
  };

  /// Sends a request that takes longer than others, and returns its one reply.
  protocol::Reply ask_while(const protocol::Request& request,
                            Seconds timeout,
                            const std::function<bool()>& keep_running) {
    connection_->send(request, timeout);
    return connection_->receive_while(deadline_in(timeout), timeout, keep_running);
  }

  WorkerOptions options_;
  std::unique_ptr<WorkerConnection> connection_;
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
Trace WorkerProcess::trace(const TraceRequest& request,
                           Seconds timeout,
                           const std::function<bool()>& keep_running) {
  return implementation_->trace(request, timeout, keep_running);
}
Alternation WorkerProcess::alternate(const AlternateRequest& request,
                                     Seconds timeout,
                                     const std::function<bool()>& keep_running) {
  return implementation_->alternate(request, timeout, keep_running);
}

Profile WorkerProcess::profile(const ProfileRequest& request,
                               Seconds timeout,
                               const std::function<bool()>& keep_running) {
  return implementation_->profile(request, timeout, keep_running);
}
Profile WorkerProcess::take_samples(const results::ExecutionMode& mode, Seconds timeout) {
  return implementation_->take_samples(mode, timeout);
}
bool WorkerProcess::export_model(const ExportRequest& request,
                                 Seconds timeout,
                                 const std::function<bool()>& keep_running) {
  return implementation_->export_model(request, timeout, keep_running);
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

}  // namespace plumb::worker
