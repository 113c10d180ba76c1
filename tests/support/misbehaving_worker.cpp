// SPDX-License-Identifier: Apache-2.0
//
// A worker that does what PLUMB_MISBEHAVE says instead of what it is asked: it crashes, hangs,
// floods, truncates.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <thread>

#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb {
namespace {

/// What a misbehaviour gets to work with: the channel, and the first request after hello.
struct Scene {
  int socket;
  worker::FrameChannel& channel;
  protocol::Request request;
  worker::WorkerService::Setup setup;

  [[nodiscard]] model::LayerKey key() const {
    return worker::from_protocol<worker::WorkerService::MeasureRequest>(request.content()).key;
  }
  void send(const protocol::Reply& reply) const {
    channel.send(reply.SerializeAsString(), std::nullopt);
  }
  template <typename Value>
  void send(protocol::Reply::Kind kind, const Value& value) const {
    protocol::Reply reply;
    reply.set_kind(kind);
    *reply.mutable_content() = worker::to_protocol(value);
    send(reply);
  }
  void send_raw(const std::string& bytes) const {
    ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void send_row(const model::LayerKey& key, Seconds sample) const {
    results::Measurement row;
    row.key = key;
    row.samples = {sample};
    send(protocol::Reply::ROW, row);
  }
  void send_done() const {
    protocol::Reply reply;
    reply.set_kind(protocol::Reply::DONE);
    send(reply);
  }
};

[[noreturn]] void hang() {
  while (true) {
    ::pause();
  }
}

void die_by(int signal) {
  // A sanitizer's handler would turn the signal into an exit status.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void flood(const Scene& scene) {
  const std::string line(1023, '#');
  for (int i = 0; i < 8192; ++i) {
    fmt::print(i % 2 == 0 ? stdout : stderr, "{}\n", line);
  }
  fmt::print("the last line\n");
  std::fflush(stdout);
  scene.send_row(scene.key(), Seconds(1));
  scene.send_done();
}

void trickle(const Scene& scene) {
  scene.send_raw(std::string("\x40\x00\x00\x00", 4));
  while (true) {
    scene.send_raw("x");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// Reports that it lives, and that nothing goes on.
void beat_idly(const Scene& scene) {
  while (true) {
    scene.send(protocol::Reply::LOAD_PROGRESS,
               worker::LoadRequest::Progress{"running", 1, Seconds(1)});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// Reports of a model that it goes on, four times, and then only that it lives.
void stall_at_half(const Scene& scene) {
  for (double share = 0.0;; share = std::min(0.5, share + 0.125)) {
    scene.send(protocol::Reply::EXECUTE_PROGRESS,
               worker::ExecuteRequest::Progress{share, Seconds(1)});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void announce(const Scene& scene, double seconds) {
  scene.send(protocol::Reply::LONG_STEP, worker::WorkerService::LongStep{Seconds(seconds)});
}

/// Announces a step, and takes longer than others for its answer.
void take_long(const Scene& scene) {
  announce(scene, 30.0);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  scene.send_row(scene.key(), Seconds(1));
  scene.send_done();
}

/// Announces steps, and never answers.
void put_off(const Scene& scene) {
  while (true) {
    announce(scene, 1000.0);
  }
}

/// Answers a load with bytes that are none.
void answer_nonsense(const Scene& scene) {
  protocol::Reply reply;
  reply.set_kind(protocol::Reply::LOAD);
  reply.mutable_content()->set_value(std::string(1 << 20, '['));
  scene.send(reply);
}

/// Leaves a process behind that holds stdout and stderr open, and ignores a polite request.
void abandon_child(const Scene& scene) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(scene.socket);
    ::signal(SIGTERM, SIG_IGN);
    hang();
  }
  fmt::print(stderr, "child {}\n", child);
  die_by(SIGSEGV);
}

/// Answers describe with what this process sees: its environment, its open descriptors, and the
/// setup that the hello had.
void tell_surroundings(const Scene& scene) {
  results::Environment environment;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(entry.path(), error);
    // The iterator's own descriptor shows up as the folder itself.
    if (!error && target.string().find("/proc/") == std::string::npos) {
      environment.identity["fd." + entry.path().filename().string()] = target.string();
    }
  }
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    environment.facts[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  environment.facts["setup"] = worker::to_protocol(scene.setup).value();
  scene.send(protocol::Reply::ENVIRONMENT, environment);
}

const std::map<std::string, std::function<void(const Scene&)>>& misbehaviours() {
  static const std::map<std::string, std::function<void(const Scene&)>> table{
      {"beat_idly", beat_idly},
      {"stall_at_half", stall_at_half},
      {"take_long", take_long},
      {"put_off", put_off},
      {"announce_nothing", [](const Scene& scene) { announce(scene, 0.0); }},
      {"announce_nan",
       [](const Scene& scene) { announce(scene, std::numeric_limits<double>::quiet_NaN()); }},
      {"announce_and_hang",
       [](const Scene& scene) {
         announce(scene, 2.5);
         hang();
       }},
      {"answer_nonsense", answer_nonsense},
      {"segfault", [](const Scene&) { die_by(SIGSEGV); }},
      {"killed", [](const Scene&) { die_by(SIGKILL); }},
      {"exit",
       [](const Scene&) {
         fmt::print(stderr, "cannot go on\n");
         std::fflush(stderr);
         ::_exit(3);
       }},
      {"exit_zero", [](const Scene&) { ::_exit(0); }},
      {"hang", [](const Scene&) { hang(); }},
      {"stubborn",
       [](const Scene&) {
         ::signal(SIGTERM, SIG_IGN);
         hang();
       }},
      {"close",
       [](const Scene& scene) {
         scene.channel.close();
         hang();
       }},
      {"flood", flood},
      {"truncate",
       [](const Scene& scene) {
         scene.send_raw(std::string("\x40\x00\x00\x00half", 8));
         ::_exit(0);
       }},
      {"truncate_length",
       [](const Scene& scene) {
         scene.send_raw("\x40");
         ::_exit(0);
       }},
      {"trickle", trickle},
      {"oversize", [](const Scene& scene) { scene.send_raw("\xff\xff\xff\xff and more"); }},
      {"garbage", [](const Scene& scene) { scene.channel.send("\xff\xff\xff", std::nullopt); }},
      {"wrong_reply", [](const Scene& scene) { scene.send(protocol::Reply()); }},
      {"row_then_crash",
       [](const Scene& scene) {
         scene.send_row(scene.key(), Seconds(0.5));
         die_by(SIGABRT);
       }},
      {"other_key", [](const Scene& scene) { scene.send_row({"v1:other"}, Seconds(1)); }},
      {"nan",
       [](const Scene& scene) {
         scene.send_row(scene.key(), Seconds(std::numeric_limits<double>::quiet_NaN()));
       }},
      {"abandon_child", abandon_child},
      {"surroundings", tell_surroundings},
      {"killed_at_first_start", tell_surroundings},
  };
  return table;
}

int run(const std::string& name) {
  const int socket = std::atoi(std::getenv("PLUMB_WORKER_CHANNEL"));
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  if (name == "exit_at_start") {
    fmt::print(stderr, "libmissing.so: cannot open shared object file\n");
    return 127;
  }
  if (name == "silent") {
    hang();
  }
  if (name == "killed_at_first_start" &&
      std::filesystem::create_directory(std::getenv("PLUMB_MISBEHAVED"))) {
    ::raise(SIGKILL);
  }
  worker::FrameChannel channel{FileDescriptor(socket)};
  Scene scene{socket, channel, {}, {}};
  protocol::Reply hello;
  hello.mutable_hello()->set_version(worker::kProtocolVersion + (name == "wrong_version" ? 1 : 0));
  hello.mutable_hello()->set_backend(name == "wrong_backend" ? "other" : "misbehaving");
  for (bool first = true;; first = false) {
    const std::optional<std::string> frame = channel.receive(std::nullopt);
    if (!frame || !scene.request.ParseFromString(*frame) ||
        scene.request.kind() == protocol::Request::SHUTDOWN) {
      return 0;
    }
    if (first) {
      scene.setup = worker::from_protocol<worker::WorkerService::Setup>(scene.request.content());
      scene.send(hello);
    } else {
      misbehaviours().at(name)(scene);
    }
  }
}

}  // namespace
}  // namespace plumb

int main() {
  const char* name = std::getenv("PLUMB_MISBEHAVE");
  return plumb::run(name == nullptr ? "exit_at_start" : name);
}
