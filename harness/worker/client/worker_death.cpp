// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_death.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::worker {
namespace {

constexpr std::size_t kLongestLine = 200;

}  // namespace

LogTail::LogTail(FileDescriptor pipe)
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

LogTail::~LogTail() {
  const std::uint64_t one = 1;
  // Cannot fail: the counter of an eventfd has room for this one write.
  [[maybe_unused]] const ssize_t written = ::write(stop_.number(), &one, sizeof one);
  thread_.join();
}

std::string LogTail::text() const {
  const std::lock_guard lock(mutex_);
  // A pipe holds at most this many pieces. The limit keeps a writer that never pauses from holding
  // the caller here.
  for (int pieces = 0; pieces < 64 && read_piece(); ++pieces) {
  }
  return kept_.size() <= kKept ? kept_ : kept_.substr(kept_.size() - kKept);
}

std::string LogTail::last_line() const {
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

void LogTail::drain() {
  std::unique_lock lock(mutex_);
  ended_condition_.wait_for(lock, std::chrono::milliseconds(250), [this] { return ended_; });
}

bool LogTail::read_piece() const {
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

void LogTail::read_until_stopped() {
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
