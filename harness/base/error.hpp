// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace plumb {

/// Exception that makes a command impossible. A failure to measure is never an Error: it is an
/// Outcome in a row.
///
/// The text says what happened, then the values, then what to do. It is in lower case, without a
/// final dot. Only the two `main`s catch it. There the kind becomes the exit status.
class Error : public std::runtime_error {
 public:
  /// Kinds of errors, by who must act. The value is the exit status of the command.
  enum class Kind {
    kUser = 2,         ///< the input is wrong: a file, a name, an option
    kEnvironment = 3,  ///< the machine lacks something: a library, a device, disk space
    kRefused = 4,      ///< unlike was to be compared with unlike
    kTryAgain = 75,    ///< the host is not quiet, or the evidence is not enough
    kInternal = 70,    ///< a bug in this program
  };

  Error(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] int exit_status() const noexcept { return static_cast<int>(kind_); }

 private:
  Kind kind_;
};

/// Throws Error{kInternal} with the place and the condition. Also in release builds.
[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace plumb

/// Checks against programmer errors, never against bad input.
#define PLUMB_CHECK(condition)                             \
  do {                                                     \
    if (!(condition)) {                                    \
      ::plumb::fail_check(#condition, __FILE__, __LINE__); \
    }                                                      \
  } while (false)
