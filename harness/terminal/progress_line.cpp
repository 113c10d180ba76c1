// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/progress_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "harness/terminal/messages.hpp"

namespace plumb::terminal {
namespace {

constexpr Seconds kNever{-1e9};

std::string clock_text(Seconds time) {
  const auto seconds = std::int64_t{std::llround(time.count())};
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/// Returns the beginning of a line of UTF-8: at most so many characters, none of them cut.
std::string first_columns(const std::string& line, std::size_t columns) {
  std::size_t end = 0;
  for (; end < line.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(line[end]) & 0xC0U) != 0x80U;
    if (begins && columns-- == 0) {
      break;
    }
  }
  return line.substr(0, end);
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

void ProgressLine::show(const session::Progress& progress) {
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
    fmt::print(stderr, "\r\x1b[K{}", first_columns(message_line(line), terminal_width() - 1));
    std::fflush(stderr);
    drawn_ = true;
  } else {
    say(line);
  }
}

}  // namespace plumb::terminal
