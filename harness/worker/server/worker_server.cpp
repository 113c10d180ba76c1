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
#include "harness/worker/protocol/protocol_error.hpp"
#include "harness/worker/protocol/stack.hpp"
#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::worker {
namespace {

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
    const std::optional<protocol::Request> first = next();
    if (!first) {
      return 0;
    }
    if (!greet(*first, make_service)) {
      return static_cast<int>(Error::Kind::kEnvironment);
    }
    for (auto request = next(); request && !request->has_shutdown(); request = next()) {
      answer(*request);
    }
    return 0;
  }

 private:
  std::optional<protocol::Request> next() {
    const std::optional<std::string> frame = channel_.receive(std::nullopt);
    if (!frame) {
      return std::nullopt;
    }
    protocol::Request request;
    if (!request.ParseFromString(*frame)) {
      throw ProtocolError(ProtocolError::Kind::kBroken,
                          fmt::format("a frame of {} bytes is not a request", frame->size()));
    }
    return request;
  }

  void reply(const protocol::Reply& reply) {
    channel_.send(reply.SerializeAsString(), std::nullopt);
  }

  void reply_error(const Error& error) {
    protocol::Reply message;
    *message.mutable_error() = to_protocol(error);
    reply(message);
  }

  bool greet(const protocol::Request& request, const MakeService& make_service) {
    protocol::Reply message;
    message.mutable_hello()->set_version(kProtocolVersion);
    message.mutable_hello()->set_backend(backend_);
    if (!request.has_hello() || request.hello().version() != kProtocolVersion) {
      // The harness reports both versions, and what to do about it.
      reply(message);
      return false;
    }
    try {
      const WorkerSetup setup = from_protocol(request.hello().setup());
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
    reply(message);
    return true;
  }

  void answer(const protocol::Request& request) {
    if (request.has_measure()) {
      measure(from_protocol(request.measure()));
      return;
    }
    if (request.has_execute()) {
      execute(from_protocol(request.execute()));
      return;
    }
    protocol::Reply message;
    try {
      if (request.has_describe()) {
        *message.mutable_environment() = to_protocol(service_->describe());
      } else if (request.has_variants()) {
        *message.mutable_variants() =
            to_protocol(service_->variants(from_protocol(request.variants())));
      } else if (request.has_calibrate()) {
        *message.mutable_calibration() = to_protocol(service_->calibrate());
      } else if (request.has_load()) {
        *message.mutable_load() = to_protocol(load(from_protocol(request.load())));
      } else if (request.has_preview()) {
        *message.mutable_choices() =
            to_protocol(service_->preview(from_protocol(request.preview())));
      } else if (request.has_reproduce()) {
        *message.mutable_reproducer() =
            to_protocol(service_->reproduce(from_protocol(request.reproduce())));
      } else if (request.has_trace()) {
        *message.mutable_trace() = to_protocol(service_->trace(from_protocol(request.trace())));
      } else if (request.has_alternate()) {
        *message.mutable_alternation() =
            to_protocol(service_->alternate(from_protocol(request.alternate())));
      } else if (request.has_profile()) {
        *message.mutable_profile() =
            to_protocol(service_->profile(from_protocol(request.profile())));
      } else if (request.has_take_samples()) {
        *message.mutable_profile() =
            to_protocol(service_->take_samples(mode_from(request.take_samples().mode())));
      } else if (request.has_export_model()) {
        message.mutable_exported()->set_written(
            service_->export_model(from_protocol(request.export_model())));
      } else {
        throw Error(Error::Kind::kInternal, "the worker does not know this request");
      }
    } catch (const ProtocolError&) {
      throw;
    } catch (const std::exception& problem) {
      reply_error(error_of(problem));
      return;
    }
    reply(message);
  }

  void send_row(const results::Measurement& row) {
    protocol::Reply message;
    *message.mutable_row() = to_protocol(row);
    reply(message);
  }

  void measure(const MeasureRequest& request) {
    std::vector<results::CacheMode> missing = request.caches;
    const auto emit = [&](const results::Measurement& row) {
      std::erase(missing, row.cache);
      send_row(row);
    };
    std::optional<results::Outcome> failure;
    try {
      service_->measure(request, emit, [this] { await_turn(); });
    } catch (const ProtocolError&) {
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
        send_row(row);
      }
    }
    protocol::Reply done;
    done.mutable_done();
    reply(done);
  }

  /// Executes a model in each mode. A failure becomes the outcome of the modes that have none yet,
  /// since other models follow.
  void execute(const ExecuteRequest& request) {
    std::size_t emitted = 0;
    const auto emit = [&](const results::Execution& execution) {
      protocol::Reply message;
      *message.mutable_execution() = to_protocol(execution);
      reply(message);
      ++emitted;
    };
    results::Outcome failure;
    try {
      service_->execute(
          request,
          emit,
          [this](const ExecuteProgress& progress) {
            protocol::Reply message;
            *message.mutable_execute_progress() = to_protocol(progress);
            reply(message);
          },
          [this] { await_turn(); });
    } catch (const ProtocolError&) {
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
    protocol::Reply done;
    done.mutable_done();
    reply(done);
  }

  /// Waits until the harness lets this worker go on with its request.
  void await_turn() {
    protocol::Reply message;
    message.mutable_awaits_turn();
    reply(message);
    const std::optional<protocol::Request> request = next();
    if (!request) {
      throw ProtocolError(ProtocolError::Kind::kClosed, "the harness closed its channel");
    }
    if (!request->has_take_turn()) {
      throw ProtocolError(ProtocolError::Kind::kBroken, "a request came while a turn was awaited");
    }
  }

  results::ScenarioResult load(const LoadRequest& request) {
    results::ScenarioResult failed = begin_load(request);
    try {
      return service_->load(request, [this](const LoadProgress& progress) {
        protocol::Reply message;
        *message.mutable_load_progress() = to_protocol(progress);
        reply(message);
      });
    } catch (const ProtocolError&) {
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
  WorkerSetup setup;
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
  } catch (const ProtocolError& problem) {
    fmt::print(stderr, "plumb-worker-{}: {}\n", backend, problem.what());
    return problem.kind() == ProtocolError::Kind::kClosed
               ? 0
               : static_cast<int>(Error::Kind::kInternal);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "plumb-worker-{}: {}\n", backend, problem.what());
    return error_of(problem).exit_status();
  }
}

}  // namespace plumb::worker
