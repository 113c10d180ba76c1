// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "harness/base/encoding.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::terminal {
namespace {

constexpr std::size_t kMaxQuoted = 500;
constexpr std::size_t kMaxMessage = 4000;
constexpr std::size_t kMessageHead = 3400;  // and a few words between head and tail
constexpr std::size_t kMessageTail = 500;

/// Returns where quoted text ends that begins behind `from`: at a quote before a space or a mark.
std::size_t end_of_quoted(std::string_view text, std::size_t from) {
  constexpr std::string_view kBehind = " :;,.)]\"";
  for (std::size_t end = text.find('\'', from); end != std::string_view::npos;
       end = text.find('\'', end + 1)) {
    if (end + 1 == text.size() || kBehind.find(text[end + 1]) != std::string_view::npos) {
      return end;
    }
  }
  return text.size();
}

/// Takes out what nlohmann::json puts before its messages: "[json.exception.parse_error.101] ".
std::string without_exception_names(std::string text) {
  constexpr std::string_view kBegin = "[json.exception.";
  for (std::size_t begin = text.find(kBegin); begin != std::string::npos;
       begin = text.find(kBegin, begin)) {
    const std::size_t end = text.find("] ", begin);
    if (end == std::string::npos) {
      break;
    }
    text.erase(begin, end + 2 - begin);
  }
  return text;
}

std::string with_short_quotes(std::string_view text) {
  constexpr std::string_view kBefore = " :;,(=[\"";
  std::string result;
  std::size_t done = 0;
  for (std::size_t quote = text.find('\''); quote != std::string_view::npos;
       quote = text.find('\'', done)) {
    const bool opens = quote == 0 || kBefore.find(text[quote - 1]) != std::string_view::npos;
    const std::size_t end = opens ? end_of_quoted(text, quote + 1) : quote;
    if (end > quote + 1 + kMaxQuoted) {
      const std::string_view quoted = text.substr(quote + 1, end - quote - 1);
      result += text.substr(done, quote + 1 - done);
      result += quoted.substr(0, whole_characters(quoted, kMaxQuoted));
      result += "…";
      done = end;
    }
    const std::size_t next = std::min(end + 1, text.size());
    result += text.substr(done, next - done);
    done = next;
  }
  result += text.substr(done);
  return result;
}

std::string with_short_middle(const std::string& text) {
  if (text.size() <= kMaxMessage) {
    return text;
  }
  const std::size_t head = whole_characters(text, kMessageHead);
  const std::size_t tail = whole_characters(text, text.size() - kMessageTail);
  return fmt::format(
      "{}… ({} bytes left out) …{}", text.substr(0, head), tail - head, text.substr(tail));
}

/// Formatter of log messages as message_line() returns them, behind their coloured level.
class LineFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string line = message_line({message.payload.data(), message.payload.size()});
    spdlog::details::log_msg safe = message;
    safe.payload = line;
    pattern_.format(safe, out);
    message.color_range_start = safe.color_range_start;
    message.color_range_end = safe.color_range_end;
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>();
  }

 private:
  spdlog::pattern_formatter pattern_{"%^%l%$: %v"};
};

}  // namespace

std::string message_line(std::string_view text) {
  std::string line(text.substr(0, text.find_last_not_of(" \t\r\n") + 1));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return with_short_middle(
      with_short_quotes(without_exception_names(reporting::sanitize_utf8(line))));
}

void say(std::string_view text) {
  const std::string line = message_line(text) + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void announce_report(const std::filesystem::path& file) {
  say(fmt::format("report: {}", std::filesystem::absolute(file).string()));
}

void log_to_terminal() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("plumb"));
  spdlog::set_formatter(std::make_unique<LineFormatter>());
}

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

class ProgressLine final : public session::ProgressDisplay {
 public:
  void show(const Progress& progress) override;
  void end() override;

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool drawn_ = false;
  Seconds last_ = kNever;
};

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
    fmt::print(stderr, "\r\x1b[K{}", first_columns(message_line(line), terminal_width() - 1));
    std::fflush(stderr);
    drawn_ = true;
  } else {
    say(line);
  }
}

/// Makes text of many lines safe: line feeds and tabs stay.
std::string sanitize_lines(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    safe += reporting::sanitize_utf8(std::string(text.substr(0, end)));
    safe += text.substr(end, 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return safe;
}

}  // namespace

std::unique_ptr<session::ProgressDisplay> progress_line() {
  return std::make_unique<ProgressLine>();
}

/// Text on its way to standard output, made safe line by line.
class StandardOutput::Text final : public std::streambuf {
 public:
  explicit Text(FileDescriptor::Buffer& bytes)
      : bytes_(bytes), terminal_(isatty(STDOUT_FILENO) == 1) {}

 protected:
  int_type overflow(int_type character) override {
    if (!traits_type::eq_int_type(character, traits_type::eof())) {
      const char c = traits_type::to_char_type(character);
      return xsputn(&c, 1) == 1 ? character : traits_type::eof();
    }
    return traits_type::not_eof(character);
  }

  std::streamsize xsputn(const char* text, std::streamsize count) override {
    held_.append(text, static_cast<std::size_t>(count));
    const std::size_t end = held_.rfind('\n');
    if (end == std::string::npos) {
      return count;
    }
    const bool passed = pass(end + 1);
    return passed && (!terminal_ || bytes_.pubsync() == 0) ? count : 0;
  }

  int sync() override { return pass(held_.size()) ? bytes_.pubsync() : -1; }

 private:
  bool pass(std::size_t length) {
    const std::string safe = sanitize_lines(std::string_view(held_).substr(0, length));
    held_.erase(0, length);
    const auto count = static_cast<std::streamsize>(safe.size());
    return bytes_.sputn(safe.data(), count) == count;
  }

  FileDescriptor::Buffer& bytes_;
  bool terminal_;
  std::string held_;  ///< the beginning of a line
};

StandardOutput::StandardOutput()
    : bytes_(STDOUT_FILENO),
      text_(std::make_unique<Text>(bytes_)),
      replaced_(std::cout.rdbuf(text_.get())) {}

StandardOutput::~StandardOutput() {
  std::cout.rdbuf(replaced_);
}

void StandardOutput::pass_bytes() {
  std::cout.flush();
  std::cout.rdbuf(&bytes_);
}

int StandardOutput::finish() {
  std::cout.flush();
  return bytes_.fault();
}

void hold_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      // A lower number is in use, so that open() returns this one.
      static_cast<void>(
          ::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY));  // NOLINT
    }
  }
}

}  // namespace plumb::terminal
