// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

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

/// Display of progress on stderr. On a terminal it is one line that rewrites itself, otherwise a
/// plain line every ten seconds.
class ProgressLine final : public session::ProgressDisplay {
 public:
  ProgressLine();

  void show(const session::Progress& progress) override;
  void end() override;

 private:
  bool terminal_;
  bool drawn_ = false;
  Seconds last_;
};

}  // namespace plumb::terminal
