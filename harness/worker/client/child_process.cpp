// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/child_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::worker {
namespace {

/// Lowest descriptor number for temporary copies: above every number that the child overwrites.
constexpr int kClear = 16;
/// Descriptor on which a child reports that exec failed. It is closed by a successful exec.
constexpr int kReport = ChildProcess::kChannel + 1;

[[noreturn]] void fail(const char* what, int error) {
  throw Error(Error::Kind::kEnvironment, fmt::format("{}: {}", what, std::strerror(error)));
}

struct Ends {
  FileDescriptor ours;
  FileDescriptor theirs;
};

Ends make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail("cannot make a socket for a worker", errno);
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Ends make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail("cannot make a pipe for a worker", errno);
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

/// Data that the child needs between fork and exec, prepared before the fork. Other threads may
/// hold the allocator's locks, so the child may only make system calls.
struct Preparation {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int channel;
  int log;
  int report;  ///< where errno goes if exec fails
  int null;
  pid_t parent;
};

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    ::sigaction(signal, &standard, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(const Preparation& prepared) {
  // Copies above kClear first: otherwise dup2 could overwrite a descriptor that is still needed.
  const int channel = ::fcntl(prepared.channel, F_DUPFD, kClear);
  const int log = ::fcntl(prepared.log, F_DUPFD, kClear);
  const int null = ::fcntl(prepared.null, F_DUPFD, kClear);
  const int report = ::fcntl(prepared.report, F_DUPFD_CLOEXEC, kClear);
  bool ready = channel >= 0 && log >= 0 && null >= 0 && report >= 0;
  ready = ready && ::dup2(null, 0) >= 0 && ::dup2(log, 1) >= 0 && ::dup2(log, 2) >= 0 &&
          ::dup2(channel, ChildProcess::kChannel) >= 0 && ::dup3(report, kReport, O_CLOEXEC) >= 0;
  if (ready) {
    // Everything else that the harness has open: stores, sockets, other workers' channels.
    ::syscall(SYS_close_range, kReport + 1, ~0U, 0);
    ::setpgid(0, 0);
    reset_signals();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != prepared.parent) {
      ::_exit(127);
    }
    ::execve(prepared.program, prepared.arguments, prepared.environment);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written =
      ::write(ready ? kReport : prepared.report, &error, sizeof error);
  ::_exit(127);
}

/// Returns the errno of a failed exec. Zero: exec succeeded, which closed the other end.
int read_report(int descriptor) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(descriptor, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

ChildProcess::ChildProcess(const std::string& program,
                           const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment) {
  Ends channel = make_socket_pair();
  Ends log = make_pipe();
  Ends report = make_pipe();
  const FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null.number() < 0) {
    fail("cannot open /dev/null for a worker", errno);
  }
  std::vector<std::string> command{program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  const std::vector<char*> command_pointers = pointers(command);
  const std::vector<char*> variable_pointers = pointers(variables);
  const Preparation prepared{program.c_str(),
                             command_pointers.data(),
                             variable_pointers.data(),
                             channel.theirs.number(),
                             log.theirs.number(),
                             report.theirs.number(),
                             null.number(),
                             ::getpid()};
  pid_ = ::fork();
  if (pid_ < 0) {
    fail("cannot start a worker process", errno);
  }
  if (pid_ == 0) {
    become(prepared);
  }
  // Done on both sides, so that kill() reaches the group at once. It fails without harm once exec
  // has happened.
  ::setpgid(pid_, pid_);
  report.theirs.reset();
  if (const int error = read_report(report.ours.number()); error != 0) {
    kill();
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot execute '{}': {}", program, std::strerror(error)));
  }
  channel_ = std::move(channel.ours);
  log_ = std::move(log.ours);
}

ChildProcess::~ChildProcess() {
  kill();
}

std::optional<int> ChildProcess::wait(Seconds at_most) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(at_most);
  auto pause = std::chrono::microseconds(200);
  while (!status_) {
    siginfo_t ended{};
    // The dead leader stays a zombie until its group is killed. Until then no other process can get
    // the group's number.
    const int result =
        ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (result != 0 && errno != EINTR) {
      status_ = 0;  // Another caller reaped it: its end is unknown.
    } else if (result == 0 && ended.si_pid == pid_) {
      ::kill(-pid_, SIGKILL);
      int status = 0;
      while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
      }
      status_ = status;
    } else if (Clock::now() >= deadline) {
      break;
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::microseconds(10'000));
    }
  }
  return status_;
}

void ChildProcess::ask_to_end() {
  if (!status_) {
    ::kill(-pid_, SIGTERM);
  }
}

int ChildProcess::kill() {
  while (!status_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    wait(Seconds(1.0));
  }
  return *status_;
}

std::string exit_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* name = ::sigabbrev_np(signal);
    return fmt::format("signal {} ({}{})",
                       signal,
                       name == nullptr ? "" : "SIG",
                       name == nullptr ? "unknown" : name);
  }
  return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
}

namespace {

constexpr std::size_t kLongestLine = 200;

}  // namespace

ChildProcess::Log::Log(FileDescriptor pipe)
    : pipe_(std::move(pipe)), stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (stop_.number() < 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot watch a worker's log: {}", std::strerror(errno)));
  }
  try {
    thread_ = std::thread([this] { read_until_stopped(); });
  } catch (const std::system_error& problem) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot start a thread for a worker's log: {}", problem.what()));
  }
}

ChildProcess::Log::~Log() {
  const std::uint64_t one = 1;
  // Cannot fail: the counter of an eventfd has room for this one write.
  [[maybe_unused]] const ssize_t written = ::write(stop_.number(), &one, sizeof one);
  thread_.join();
}

std::string ChildProcess::Log::text() const {
  const std::lock_guard lock(mutex_);
  // A pipe holds at most this many pieces. The limit keeps a writer that never pauses from holding
  // the caller here.
  for (int pieces = 0; pieces < 64 && read_piece(); ++pieces) {
  }
  return kept_.size() <= kKept ? kept_ : kept_.substr(kept_.size() - kKept);
}

std::string ChildProcess::Log::last_line() const {
  const std::string all = text();
  const std::size_t end = all.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) {
    return {};
  }
  const std::size_t newline = all.find_last_of('\n', end);
  const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
  std::string line = all.substr(start, std::min(end + 1 - start, kLongestLine));
  for (char& character : line) {
    if (character < ' ' || character > '~') {
      character = '?';
    }
  }
  return line;
}

void ChildProcess::Log::drain() {
  std::unique_lock lock(mutex_);
  ended_condition_.wait_for(lock, std::chrono::milliseconds(250), [this] { return ended_; });
}

bool ChildProcess::Log::read_piece() const {
  pollfd waited{pipe_.number(), POLLIN, 0};
  if (::poll(&waited, 1, 0) <= 0) {
    return false;
  }
  std::array<char, 16384> piece{};
  const ssize_t got = ::read(pipe_.number(), piece.data(), piece.size());
  if (got <= 0) {
    ended_ = ended_ || got == 0 || (errno != EINTR && errno != EAGAIN);
    return false;
  }
  kept_.append(piece.data(), static_cast<std::size_t>(got));
  // Cut only now and then: each cut moves what is kept.
  if (kept_.size() > 4 * kKept) {
    kept_.erase(0, kept_.size() - kKept);
  }
  return true;
}

void ChildProcess::Log::read_until_stopped() {
  std::array<pollfd, 2> waited{{{pipe_.number(), POLLIN, 0}, {stop_.number(), POLLIN, 0}}};
  while (true) {
    if (::poll(waited.data(), waited.size(), -1) < 0) {
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (waited[1].revents == 0) {
      read_piece();  // text() may have been faster
    }
    if (ended_ || waited[1].revents != 0) {
      ended_ = true;
      ended_condition_.notify_all();
      break;
    }
  }
}

Error lost_worker(const WorkerDied& death, const std::string& what) {
  return {Error::Kind::kEnvironment,
          fmt::format("the worker was lost while {}: {}; check that nothing kills it, that memory "
                      "is free and that --row-timeout is long enough, then try again",
                      what,
                      death.outcome().reason)};
}

}  // namespace plumb::worker
