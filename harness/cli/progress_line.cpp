// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/progress_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace plumb {
namespace {

constexpr Seconds kNever{-1e9};

std::string clock_text(Seconds time) {
  const auto seconds = static_cast<std::int64_t>(time.count() + 0.5);
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1), last_(kNever) {}

void ProgressLine::end() {
  if (drawn_) {
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
  }
  drawn_ = false;
  last_ = kNever;
}

void ProgressLine::show(const Progress& progress) {
  const Seconds between = terminal_ ? Seconds(0.1) : Seconds(10.0);
  if (progress.elapsed - last_ < between && progress.done != progress.total) {
    return;
  }
  last_ = progress.elapsed;
  std::string line = fmt::format("{}/{} {}  {} elapsed",
                                 progress.done,
                                 progress.total,
                                 progress.unit,
                                 clock_text(progress.elapsed));
  if (progress.left && progress.done < progress.total) {
    line += fmt::format(", {} left", clock_text(*progress.left));
  }
  if (!progress.current.empty()) {
    line += "  " + progress.current;
  }
  if (terminal_) {
    line.resize(std::min(line.size(), terminal_width() - 1));
    fmt::print(stderr, "\r\x1b[K{}", line);
    std::fflush(stderr);
    drawn_ = true;
  } else {
    fmt::print(stderr, "{}\n", line);
  }
}

}  // namespace plumb
