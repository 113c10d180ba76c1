// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/worker/client/child_process.hpp"
#include "harness/worker/client/worker_connection.hpp"
#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {
namespace {

using protocol::Reply;
using protocol::Request;

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

std::unique_ptr<ChildProcess> start(const WorkerProcess::Options& options) {
  const Stack& stack = options.stack;
  const std::string worker = find_worker(stack.backend, options.search_path).string();
  const std::vector<std::string> environment =
      worker_environment(stack, options.setup.threads, ChildProcess::kChannel, ::environ);
  if (stack.loader.empty()) {
    return std::make_unique<ChildProcess>(worker, std::vector<std::string>{}, environment);
  }
  return std::make_unique<ChildProcess>(
      stack.loader.string(), loader_arguments(stack, worker), environment);
}

/// Starts a worker and exchanges hellos with it. One that dies meanwhile is started once more: what
/// killed it may have been outside of it.
std::unique_ptr<WorkerConnection> connect(const WorkerProcess::Options& options) {
  WorkerService::Setup setup = options.setup;
  setup.libraries = options.stack.libraries;
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
  explicit Implementation(const WorkerProcess::Options& options)
      : options_(options), connection_(connect(options)) {}

  results::Environment describe() {
    auto environment = ask<results::Environment>(Request::DESCRIBE, Reply::ENVIRONMENT);
    environment.facts.merge(started_facts(options_, ::environ));
    environment.identity.merge(stack_identity(options_.stack));
    return environment;
  }

  std::vector<Variant> variants(const model::LayerKey& key) {
    return ask<WorkerService::VariantList>(
               Request::VARIANTS, WorkerService::VariantsRequest{key}, Reply::VARIANTS)
        .variants;
  }

  results::Calibration calibrate() {
    return ask<results::Calibration>(Request::CALIBRATE, Reply::CALIBRATION);
  }

  void begin_execution(const ExecuteRequest& execute,
                       Seconds timeout,
                       std::function<void(results::Execution)> emit,
                       const std::function<bool(const ExecuteRequest::Progress&)>& keep_running) {
    ExecuteRequest asked = execute;
    asked.host_pace = options_.pace->seconds();
    connection_->send(Request::EXECUTE, asked, timeout);
    const auto last = std::make_shared<ExecuteRequest::Progress>();
    running_ = {
        .timeout = timeout,
        .take_in =
            [this, last, emit = std::move(emit), keep_running, modes = execute.modes.size()](
                const Reply& reply) mutable {
              if (reply.kind() == Reply::EXECUTE_PROGRESS) {
                const auto progress =
                    connection_->read<ExecuteRequest::Progress>(reply, Reply::EXECUTE_PROGRESS);
                connection_->stop_unless(keep_running(progress));
                // A report alone is not progress: a model that hangs must not hang the harness.
                const bool further = progress.share > last->share;
                *last = further ? progress : *last;
                return further;
              }
              auto execution =
                  connection_->read<results::Execution>(reply, Reply::EXECUTION, modes-- > 0);
              options_.pace->take_in(execution.row);
              connection_->deliver(emit, std::move(execution));
              return true;
            },
        .keep_running = [last, keep_running] { return keep_running(*last); }};
  }

  void begin_measurement(const WorkerService::MeasureRequest& measure,
                         Seconds timeout,
                         std::function<void(results::Measurement)> emit) {
    WorkerService::MeasureRequest asked = measure;
    asked.host_pace = options_.pace->seconds();
    connection_->send(Request::MEASURE, asked, timeout);
    running_ = {.timeout = timeout,
                .take_in =
                    [this, emit = std::move(emit), key = measure.key, rows = 0](
                        const Reply& reply) mutable {
                      auto row = connection_->read<results::Measurement>(
                          reply, Reply::ROW, rows++ < kMaximumRows);
                      if (row.key != key) {
                        connection_->die(FrameChannel::ProtocolError(
                                             FrameChannel::ProtocolError::Kind::kBroken,
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
      connection_->send(Request::TAKE_TURN, running_.timeout);
    }
    FrameChannel::Deadline deadline = deadline_in(running_.timeout);
    while (true) {
      const Reply reply =
          connection_->receive_while(deadline, running_.timeout, running_.keep_running);
      if (reply.kind() == Reply::DONE) {
        running_ = {};
        return false;
      }
      if (reply.kind() == Reply::AWAITS_TURN) {
        running_.awaits_turn = true;
        return true;
      }
      if (running_.take_in(reply)) {
        deadline = deadline_in(running_.timeout);
      }
    }
  }

  results::EngineChoices preview(const WorkerService::PreviewRequest& preview) {
    auto choices = ask<results::EngineChoices>(Request::PREVIEW, preview, Reply::CHOICES);
    if (choices.key != preview.key) {
      connection_->die(
          FrameChannel::ProtocolError(FrameChannel::ProtocolError::Kind::kBroken,
                                      "choices are for a different key than the requested one"),
          options_.request_timeout);
    }
    return choices;
  }

  Reproducer reproduce(const Reproducer::Request& reproduce) {
    return ask<Reproducer>(Request::REPRODUCE, reproduce, Reply::REPRODUCER);
  }

  Trace trace(const Trace::Request& trace,
              Seconds timeout,
              const std::function<bool()>& keep_running) {
    connection_->send(Request::TRACE, trace, timeout);
    return answer_while<Trace>(Reply::TRACE, timeout, keep_running);
  }

  Alternation alternate(const Alternation::Request& alternate,
                        Seconds timeout,
                        const std::function<bool()>& keep_running) {
    Alternation::Request asked = alternate;
    for (ExecuteRequest& shape : asked.shapes) {
      shape.host_pace = options_.pace->seconds();
    }
    connection_->send(Request::ALTERNATE, asked, timeout);
    auto alternation = answer_while<Alternation>(Reply::ALTERNATION, timeout, keep_running);
    if (alternation.seconds.size() != alternate.order.size()) {
      connection_->die(
          FrameChannel::ProtocolError(FrameChannel::ProtocolError::Kind::kBroken,
                                      "an alternation has another number of times than asked for"),
          timeout);
    }
    results::Measurement seen;
    seen.readings = alternation.readings;
    options_.pace->take_in(seen);
    return alternation;
  }

  Profile profile(const Profile::Request& profile,
                  Seconds timeout,
                  const std::function<bool()>& keep_running) {
    connection_->send(Request::PROFILE, profile, timeout);
    return answer_while<Profile>(Reply::PROFILE, timeout, keep_running);
  }

  Profile take_samples(const results::ExecutionMode& mode, Seconds timeout) {
    connection_->send(Request::TAKE_SAMPLES, WorkerService::SamplesRequest{mode}, timeout);
    return answer_while<Profile>(Reply::PROFILE, timeout, [] { return true; });
  }

  bool export_model(const WorkerService::ExportRequest& wanted,
                    Seconds timeout,
                    const std::function<bool()>& keep_running) {
    connection_->send(Request::EXPORT_MODEL, wanted, timeout);
    return answer_while<WorkerService::Exported>(Reply::EXPORTED, timeout, keep_running).written;
  }

  results::ScenarioResult load(
      const LoadRequest& load,
      Seconds timeout,
      const std::function<bool(const LoadRequest::Progress&)>& keep_running) {
    connection_->send(Request::LOAD, load, timeout);
    FrameChannel::Deadline deadline = deadline_in(timeout);
    LoadRequest::Progress last;
    while (true) {
      const Reply reply =
          connection_->receive_while(deadline, timeout, [&] { return keep_running(last); });
      if (reply.kind() != Reply::LOAD_PROGRESS) {
        return connection_->read<results::ScenarioResult>(reply, Reply::LOAD);
      }
      const auto progress = connection_->read<LoadRequest::Progress>(reply, Reply::LOAD_PROGRESS);
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
    Seconds timeout{60.0};                           ///< of silence
    std::function<bool(const Reply&)> take_in = {};  ///< returns whether it is progress
    std::function<bool()> keep_running = {};
    bool awaits_turn = false;  ///< the worker was not yet told to go on
  };

  /// Sends a request whose kind says all, and returns the value of its one reply.
  template <typename Value>
  Value ask(Request::Kind request, Reply::Kind reply) {
    connection_->send(request, options_.request_timeout);
    return connection_->read<Value>(connection_->receive(), reply);
  }
  template <typename Value, typename Asked>
  Value ask(Request::Kind request, const Asked& asked, Reply::Kind reply) {
    connection_->send(request, asked, options_.request_timeout);
    return connection_->read<Value>(connection_->receive(), reply);
  }

  /// Returns the value of the one reply to a request that takes longer than others.
  template <typename Value>
  Value answer_while(Reply::Kind kind, Seconds timeout, const std::function<bool()>& keep_running) {
    return connection_->read<Value>(
        connection_->receive_while(deadline_in(timeout), timeout, keep_running), kind);
  }

  WorkerProcess::Options options_;
  std::unique_ptr<WorkerConnection> connection_;
  RunningRequest running_;
};

WorkerProcess::WorkerProcess(const WorkerProcess::Options& options)
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
results::EngineChoices WorkerProcess::preview(const WorkerService::PreviewRequest& request) {
  return implementation_->preview(request);
}
Reproducer WorkerProcess::reproduce(const Reproducer::Request& request) {
  return implementation_->reproduce(request);
}
Trace WorkerProcess::trace(const Trace::Request& request,
                           Seconds timeout,
                           const std::function<bool()>& keep_running) {
  return implementation_->trace(request, timeout, keep_running);
}
Alternation WorkerProcess::alternate(const Alternation::Request& request,
                                     Seconds timeout,
                                     const std::function<bool()>& keep_running) {
  return implementation_->alternate(request, timeout, keep_running);
}

Profile WorkerProcess::profile(const Profile::Request& request,
                               Seconds timeout,
                               const std::function<bool()>& keep_running) {
  return implementation_->profile(request, timeout, keep_running);
}
Profile WorkerProcess::take_samples(const results::ExecutionMode& mode, Seconds timeout) {
  return implementation_->take_samples(mode, timeout);
}
bool WorkerProcess::export_model(const WorkerService::ExportRequest& request,
                                 Seconds timeout,
                                 const std::function<bool()>& keep_running) {
  return implementation_->export_model(request, timeout, keep_running);
}
void WorkerProcess::measure(const WorkerService::MeasureRequest& request,
                            Seconds timeout,
                            const std::function<void(results::Measurement)>& emit) {
  begin_measurement(request, timeout, emit);
  while (take_turn()) {
  }
}
void WorkerProcess::execute(
    const ExecuteRequest& request,
    Seconds timeout,
    const std::function<void(results::Execution)>& emit,
    const std::function<bool(const ExecuteRequest::Progress&)>& keep_running) {
  begin_execution(request, timeout, emit, keep_running);
  while (take_turn()) {
  }
}
void WorkerProcess::begin_measurement(const WorkerService::MeasureRequest& request,
                                      Seconds timeout,
                                      std::function<void(results::Measurement)> emit) {
  implementation_->begin_measurement(request, timeout, std::move(emit));
}
void WorkerProcess::begin_execution(
    const ExecuteRequest& request,
    Seconds timeout,
    std::function<void(results::Execution)> emit,
    const std::function<bool(const ExecuteRequest::Progress&)>& keep_running) {
  implementation_->begin_execution(request, timeout, std::move(emit), keep_running);
}
bool WorkerProcess::take_turn() {
  return implementation_->take_turn();
}
results::ScenarioResult WorkerProcess::load(
    const LoadRequest& request,
    Seconds timeout,
    const std::function<bool(const LoadRequest::Progress&)>& keep_running) {
  return implementation_->load(request, timeout, keep_running);
}
int WorkerProcess::pid() const {
  return implementation_->pid();
}
std::string WorkerProcess::log_tail() const {
  return implementation_->log_tail();
}

}  // namespace plumb::worker
