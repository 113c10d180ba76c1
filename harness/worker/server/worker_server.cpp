// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/server/worker_server.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/stack.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {
namespace {

using protocol::Reply;
using protocol::Request;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::optional<int> parse_number(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    return std::nullopt;
  }
  return number;
}

/// Takes over the descriptor that `plumb` left open. Empty: this process was started by hand.
std::optional<FileDescriptor> channel_from_environment() {
  const std::optional<int> number = parse_number(variable(kChannelVariable));
  int type = 0;
  socklen_t size = sizeof type;
  if (!number || ::getsockopt(*number, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
      type != SOCK_STREAM) {
    return std::nullopt;
  }
  // A process that a library starts must not keep the channel open.
  ::fcntl(*number, F_SETFD, FD_CLOEXEC);
  ::unsetenv(kChannelVariable);
  return FileDescriptor(*number);
}

Error error_of(const std::exception& problem) {
  const auto* error = dynamic_cast<const Error*>(&problem);
  return error != nullptr ? *error : Error(Error::Kind::kInternal, problem.what());
}

/// Server for the requests of one harness.
class Server {
 public:
  Server(std::string_view backend, FrameChannel channel)
      : backend_(backend), channel_(std::move(channel)) {}

  int run(const MakeService& make_service) {
    const std::optional<Request> first = next();
    if (!first) {
      return 0;
    }
    if (!greet(*first, make_service)) {
      return static_cast<int>(Error::Kind::kEnvironment);
    }
    for (auto request = next(); request && request->kind() != Request::SHUTDOWN; request = next()) {
      answer(*request);
    }
    return 0;
  }

 private:
  std::optional<Request> next() {
    const std::optional<std::string> frame = channel_.receive(std::nullopt);
    if (!frame) {
      return std::nullopt;
    }
    Request request;
    if (!request.ParseFromString(*frame)) {
      throw FrameChannel::ProtocolError(
          FrameChannel::ProtocolError::Kind::kBroken,
          fmt::format("a frame of {} bytes is not a request", frame->size()));
    }
    return request;
  }

  void send(const Reply& reply) { channel_.send(reply.SerializeAsString(), std::nullopt); }

  void reply(Reply::Kind kind) {
    Reply message;
    message.set_kind(kind);
    send(message);
  }

  template <typename Value>
  void reply(Reply::Kind kind, const Value& value) {
    Reply message;
    message.set_kind(kind);
    *message.mutable_content() = to_protocol(value);
    send(message);
  }

  void reply_error(const Error& error) {
    reply(Reply::ERROR, WorkerService::ReportedError{error.kind(), error.what()});
  }

  bool greet(const Request& request, const MakeService& make_service) {
    Reply message;
    message.set_kind(Reply::HELLO);
    message.mutable_hello()->set_version(kProtocolVersion);
    message.mutable_hello()->set_backend(backend_);
    if (request.hello().version() != kProtocolVersion) {
      // The harness reports both versions, and what to do about it.
      send(message);
      return false;
    }
    try {
      const auto setup = from_protocol<WorkerService::Setup>(request.content());
      service_ = make_service(setup);
      if (!setup.device.empty() && !service_->has_devices()) {
        throw Error(Error::Kind::kUser,
                    fmt::format("device '{}': the backend '{}' measures on this machine's "
                                "processor and has no devices to choose from; leave out --device, "
                                "or name a stack of the backend 'cuda'",
                                setup.device,
                                backend_));
      }
    } catch (const std::exception& problem) {
      reply_error(error_of(problem));
      return false;
    }
    send(message);
    return true;
  }

  void answer(const Request& request) {
    if (request.kind() == Request::MEASURE) {
      measure(from_protocol<WorkerService::MeasureRequest>(request.content()));
      return;
    }
    if (request.kind() == Request::EXECUTE) {
      execute(from_protocol<ExecuteRequest>(request.content()));
      return;
    }
    try {
      answer_once(request.kind(), request.content());
    } catch (const FrameChannel::ProtocolError&) {
      throw;
    } catch (const std::exception& problem) {
      reply_error(error_of(problem));
    }
  }

  /// Answers a request that has one reply.
  void answer_once(Request::Kind kind, const protocol::Content& content) {
    switch (kind) {
      case Request::DESCRIBE:
        return reply(Reply::ENVIRONMENT, service_->describe());
      case Request::VARIANTS:
        return reply(Reply::VARIANTS,
                     WorkerService::VariantList{service_->variants(
                         from_protocol<WorkerService::VariantsRequest>(content).key)});
      case Request::CALIBRATE:
        return reply(Reply::CALIBRATION, service_->calibrate());
      case Request::LOAD:
        return reply(Reply::LOAD, load(from_protocol<LoadRequest>(content)));
      case Request::PREVIEW:
        return reply(Reply::CHOICES,
                     service_->preview(from_protocol<WorkerService::PreviewRequest>(content)));
      case Request::REPRODUCE:
        return reply(Reply::REPRODUCER,
                     service_->reproduce(from_protocol<Reproducer::Request>(content)));
      case Request::TRACE:
        return reply(Reply::TRACE, service_->trace(from_protocol<Trace::Request>(content)));
      case Request::ALTERNATE:
        return reply(Reply::ALTERNATION,
                     service_->alternate(from_protocol<Alternation::Request>(content)));
      case Request::PROFILE:
        return reply(Reply::PROFILE, service_->profile(from_protocol<Profile::Request>(content)));
      case Request::TAKE_SAMPLES:
        return reply(
            Reply::PROFILE,
            service_->take_samples(from_protocol<WorkerService::SamplesRequest>(content).mode));
      case Request::EXPORT_MODEL:
        return reply(Reply::EXPORTED,
                     WorkerService::Exported{service_->export_model(
                         from_protocol<WorkerService::ExportRequest>(content))});
      case Request::HELLO:
      case Request::MEASURE:
      case Request::EXECUTE:
      case Request::TAKE_TURN:
      case Request::SHUTDOWN:
        break;
    }
    throw Error(Error::Kind::kInternal, "the worker does not know this request");
  }

  void measure(const WorkerService::MeasureRequest& request) {
    std::vector<results::CacheMode> missing = request.caches;
    const auto emit = [&](const results::Measurement& row) {
      std::erase(missing, row.cache);
      reply(Reply::ROW, row);
    };
    std::optional<results::Outcome> failure;
    try {
      service_->measure(request, emit, [this] { await_turn(); });
    } catch (const FrameChannel::ProtocolError&) {
      throw;
    } catch (const std::bad_alloc&) {
      failure = {results::Outcome::Kind::kOutOfMemory, "the worker could not allocate memory"};
    } catch (const std::exception& problem) {
      const Error error = error_of(problem);
      // A machine that lacks something lacks it for every row.
      if (error.kind() != Error::Kind::kInternal) {
        reply_error(error);
        return;
      }
      failure = {results::Outcome::Kind::kCrashed,
                 fmt::format("the worker failed: {}", error.what())};
    }
    if (failure) {
      // A failure after the last expected row still needs a row that reports it.
      if (missing.empty() && !request.caches.empty()) {
        missing.push_back(request.caches.back());
      }
      for (const results::CacheMode cache : missing) {
        results::Measurement row;
        row.key = request.key;
        row.cache = cache;
        row.purpose = request.purpose;
        row.outcome = *failure;
        reply(Reply::ROW, row);
      }
    }
    reply(Reply::DONE);
  }

  /// Executes a model in each mode. A failure becomes the outcome of the modes that have none yet,
  /// since other models follow.
  void execute(const ExecuteRequest& request) {
    std::size_t emitted = 0;
    const auto emit = [&](const results::Execution& execution) {
      reply(Reply::EXECUTION, execution);
      ++emitted;
    };
    results::Outcome failure;
    try {
      service_->execute(
          request,
          emit,
          [this](const ExecuteRequest::Progress& progress) {
            reply(Reply::EXECUTE_PROGRESS, progress);
          },
          [this] { await_turn(); });
    } catch (const FrameChannel::ProtocolError&) {
      throw;
    } catch (const std::bad_alloc&) {
      failure = {results::Outcome::Kind::kOutOfMemory, "the worker could not allocate memory"};
    } catch (const std::exception& problem) {
      failure = {results::Outcome::Kind::kCrashed,
                 fmt::format("the worker failed: {}", problem.what())};
    }
    while (!failure.ok() && emitted < request.modes.size()) {
      results::Execution failed;
      failed.mode = to_text(request.modes[emitted].mode);
      failed.row.key.text = "model:" + request.name;
      failed.row.outcome = failure;
      emit(failed);
    }
    reply(Reply::DONE);
  }

  /// Waits until the harness lets this worker go on with its request.
  void await_turn() {
    reply(Reply::AWAITS_TURN);
    const std::optional<Request> request = next();
    if (!request) {
      throw FrameChannel::ProtocolError(FrameChannel::ProtocolError::Kind::kClosed,
                                        "the harness closed its channel");
    }
    if (request->kind() != Request::TAKE_TURN) {
      throw FrameChannel::ProtocolError(FrameChannel::ProtocolError::Kind::kBroken,
                                        "a request came while a turn was awaited");
    }
  }

  results::ScenarioResult load(const LoadRequest& request) {
    results::ScenarioResult failed = begin_load(request);
    try {
      return service_->load(request, [this](const LoadRequest::Progress& progress) {
        reply(Reply::LOAD_PROGRESS, progress);
      });
    } catch (const FrameChannel::ProtocolError&) {
      throw;
    } catch (const std::bad_alloc&) {
      failed.outcome = {results::Outcome::Kind::kOutOfMemory,
                        "the worker could not allocate memory"};
    } catch (const std::exception& problem) {
      failed.outcome = {results::Outcome::Kind::kCrashed,
                        fmt::format("the worker failed: {}", problem.what())};
    }
    return failed;
  }

  std::string backend_;
  FrameChannel channel_;
  std::unique_ptr<WorkerService> service_;
};

void print_environment(const MakeService& make_service,
                       std::string_view backend,
                       std::vector<std::filesystem::path> libraries) {
  WorkerService::Setup setup;
  setup.libraries = std::move(libraries);
  if (setup.libraries.empty() && backend == Stack{}.backend) {
    setup.libraries = default_stack().libraries;
  }
  const results::Environment environment = make_service(setup)->describe();
  for (const auto& [name, value] : environment.identity) {
    fmt::print("{} = {}\n", name, value);
  }
  for (const auto& [name, value] : environment.facts) {
    fmt::print("{} = {}  (recorded)\n", name, value);
  }
}

bool is_among(std::string_view option, std::span<const char* const> arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [&](std::string_view argument) {
    return argument == option || (argument.starts_with(option) && argument[option.size()] == '=');
  });
}

int run_by_hand(std::string_view backend,
                const MakeService& make_service,
                std::span<const char* const> arguments,
                std::span<const HandCommand> by_hand) {
  const std::string_view option = arguments.size() >= 2 ? arguments[1] : "";
  if (option == "--describe") {
    print_environment(make_service, backend, {arguments.begin() + 2, arguments.end()});
    return 0;
  }
  std::string more;
  for (const HandCommand& command : by_hand) {
    if (is_among(command.option, arguments)) {
      return command.run(arguments);
    }
    more += command.usage;
  }
  const std::string text = fmt::format(
      "plumb-worker-{0}: measures for `plumb` through the {0} backend. `plumb` starts it. Options "
      "for use by hand:\n  --describe [LIBRARY…]   print what it would report of these libraries "
      "and the device\n{1}  --help                  print this\n",
      backend,
      more);
  const bool asked = option == "--help" && arguments.size() == 2;
  fmt::print(asked ? stdout : stderr, "{}", text);
  return asked ? 0 : static_cast<int>(Error::Kind::kUser);
}

}  // namespace

int run_worker(std::string_view backend,
               const MakeService& make_service,
               int argc,
               const char* const* argv,
               std::span<const HandCommand> by_hand) {
  try {
    std::optional<FileDescriptor> socket = channel_from_environment();
    if (!socket) {
      return run_by_hand(backend, make_service, {argv, static_cast<std::size_t>(argc)}, by_hand);
    }
    return Server(backend, FrameChannel(std::move(*socket))).run(make_service);
  } catch (const FrameChannel::ProtocolError& problem) {
    fmt::print(stderr, "plumb-worker-{}: {}\n", backend, problem.what());
    return problem.kind() == FrameChannel::ProtocolError::Kind::kClosed
               ? 0
               : static_cast<int>(Error::Kind::kInternal);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "plumb-worker-{}: {}\n", backend, problem.what());
    return error_of(problem).exit_status();
  }
}

}  // namespace plumb::worker
