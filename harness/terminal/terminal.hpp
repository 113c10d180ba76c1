// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

#include "harness/base/file_io.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::terminal {

/// Returns a message as the terminal gets it: one line, with nothing in it that drives a terminal.
/// Of quoted text at most 500 bytes are shown, and of the whole about 4,000.
[[nodiscard]] std::string message_line(std::string_view text);

/// Writes a message as one line on standard error.
void say(std::string_view text);

/// Writes the location of a report on standard error.
void announce_report(const std::filesystem::path& file);

/// Makes log messages lines on standard error, each as message_line() returns it.
void log_to_terminal();

/// Makes a display of progress on stderr. On a terminal it is one line that rewrites itself,
/// otherwise a plain line every ten seconds.
[[nodiscard]] std::unique_ptr<session::ProgressDisplay> progress_line();

/// Standard output of the program. While it lives, std::cout writes to it: lines of text, in which
/// no character drives the terminal.
class StandardOutput {
 public:
  StandardOutput();
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;
  StandardOutput(StandardOutput&&) = delete;
  StandardOutput& operator=(StandardOutput&&) = delete;
  ~StandardOutput();

  /// Makes std::cout pass on every byte from now on, for what other programs read.
  void pass_bytes();
  /// Writes what is left. Returns the `errno` of the first write that failed, or 0.
  [[nodiscard]] int finish();

 private:
  class Text;

  FileDescriptor::Buffer bytes_;
  std::unique_ptr<Text> text_;
  std::streambuf* replaced_;
};

/// Gives the standard descriptors that are closed to /dev/null, so that no file gets their numbers.
/// What is written to a closed standard output fails.
void hold_standard_descriptors();

}  // namespace plumb::terminal
