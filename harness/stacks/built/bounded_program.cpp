// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/built/bounded_program.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/worker/client/child_process.hpp"

namespace plumb::stacks {
namespace {

constexpr std::size_t kTailLines = 12;
constexpr std::size_t kLineBytes = 400;
constexpr Seconds kPatience{5.0};  // between the wish to end and the end
constexpr int kPollMilliseconds = 200;
constexpr int kLastPieces = 4096;  // read after the end: what was left behind may write forever

/// The last lines of a program's output, each cut to a readable length.
class TailLines {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      if (c == '\n') {
        finish();
      } else if (line_.size() < kLineBytes) {
        line_ += c;
      }
    }
  }
  [[nodiscard]] std::vector<std::string> take() {
    finish();
    return std::move(lines_);
  }

 private:
  void finish() {
    if (!line_.empty()) {
      lines_.push_back(std::exchange(line_, {}));
    }
    if (lines_.size() > kTailLines) {
      lines_.erase(lines_.begin());
    }
  }

  std::vector<std::string> lines_;
  std::string line_;
};

/// Returns this process's variables without those that lead git to another repository, as a git
/// hook has them, and without those that make it talk.
std::vector<std::string> variables_of_programs() {
  constexpr std::array<std::string_view, 12> kDropped{"GIT_DIR=",
                                                      "GIT_WORK_TREE=",
                                                      "GIT_COMMON_DIR=",
                                                      "GIT_INDEX_FILE=",
                                                      "GIT_PREFIX=",
                                                      "GIT_NAMESPACE=",
                                                      "GIT_OBJECT_DIRECTORY=",
                                                      "GIT_ALTERNATE_OBJECT_DIRECTORIES=",
                                                      "GIT_SHALLOW_FILE=",
                                                      "GIT_GRAFT_FILE=",
                                                      "GIT_TRACE",
                                                      "GIT_TERMINAL_PROMPT="};
  std::vector<std::string> variables{"GIT_TERMINAL_PROMPT=0"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (std::none_of(kDropped.begin(), kDropped.end(), [&](std::string_view each) {
          return text.starts_with(each);
        })) {
      variables.emplace_back(text);
    }
  }
  return variables;
}

/// One program from its start to its end.
class RunningProgram {
 public:
  RunningProgram(const std::filesystem::path& program,
                 const std::vector<std::string>& arguments,
                 std::size_t output_limit,
                 const std::function<void(std::string_view)>& write)
      : child_(program.string(), arguments, variables_of_programs()),
        output_(child_.take_log()),
        room_(output_limit),
        write_(write) {}

  /// Returns the wait status once the program has ended. A process that it left behind may still
  /// hold its output.
  std::optional<int> wait() {
    read_output(kPollMilliseconds);
    const std::optional<int> status = child_.wait(closed_ ? Seconds(0.2) : Seconds(0.0));
    for (int piece = 0; status && piece < kLastPieces && read_output(0); ++piece) {
    }
    return status;
  }
  void ask_to_end() { child_.ask_to_end(); }
  void kill() { child_.kill(); }
  [[nodiscard]] std::vector<std::string> tail() { return tail_.take(); }

 private:
  /// Reads what there is. Returns false if there is nothing.
  bool read_output(int milliseconds) {
    if (closed_) {
      return false;
    }
    pollfd waiting{output_.number(), POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) <= 0) {
      return false;
    }
    std::array<char, 16384> piece{};
    const ssize_t got = ::read(output_.number(), piece.data(), piece.size());
    if (got <= 0) {
      closed_ = got == 0 || errno != EINTR;
      return false;
    }
    const std::string_view text(piece.data(), static_cast<std::size_t>(got));
    tail_.add(text);
    const std::size_t kept = std::min(room_, text.size());
    room_ -= kept;
    write_(text.substr(0, kept));
    return true;
  }

  worker::ChildProcess child_;
  FileDescriptor output_;
  std::size_t room_;
  const std::function<void(std::string_view)>& write_;
  TailLines tail_;
  bool closed_ = false;
};

}  // namespace

ProgramEnd run_program(const std::filesystem::path& program,
                       const std::vector<std::string>& arguments,
                       const ProgramEnd::Limits& limits,
                       const std::atomic<bool>& stop,
                       const std::function<void(std::string_view)>& write,
                       const std::function<void(Seconds elapsed)>& report) {
  const Seconds start = steady_time();
  RunningProgram running(program, arguments, limits.output, write);
  ProgramEnd end;
  std::optional<Seconds> asked;
  std::optional<int> status;
  Seconds reported = start;
  while (!(status = running.wait())) {
    const Seconds now = steady_time();
    if (now - reported >= Seconds(0.5)) {
      report(now - start);
      reported = now;
    }
    if (asked) {
      if (now - *asked > kPatience) {
        running.kill();
      }
    } else if (stop.load() || now - start > limits.time) {
      end.stopped = stop.load();
      end.problem = end.stopped ? "was interrupted"
                                : fmt::format("was stopped after {:.0f} s", limits.time.count());
      running.ask_to_end();
      asked = now;
    }
  }
  if (!asked && *status != 0) {
    end.problem = worker::exit_text(*status);
  }
  end.tail = running.tail();
  return end;
}

ProgramEnd run_build(const std::string& command,
                     const std::filesystem::path& folder,
                     Seconds time_limit,
                     const std::filesystem::path& log,
                     const std::atomic<bool>& stop,
                     const std::function<void(Seconds elapsed)>& report) {
  std::ofstream out(log, std::ios::binary | std::ios::trunc);
  if (!out) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot write the log '{}': check the folder and the space on the disk",
                            log.string()));
  }
  out << fmt::format("# in {}\n# {}\n", folder.string(), command) << std::flush;
  return run_program(
      "/bin/sh",
      {"-c", R"(cd -- "$1" && exec /bin/sh -c "$2")", "sh", folder.string(), command},
      {.time = time_limit},
      stop,
      [&](std::string_view text) { out << text << std::flush; },
      report);
}

}  // namespace plumb::stacks
