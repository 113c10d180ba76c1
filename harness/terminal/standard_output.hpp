// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <streambuf>

#include "harness/base/file_io.hpp"

namespace plumb::terminal {

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

  DescriptorBuffer bytes_;
  std::unique_ptr<Text> text_;
  std::streambuf* replaced_;
};

/// Gives the standard descriptors that are closed to /dev/null, so that no file gets their numbers.
/// What is written to a closed standard output fails.
void hold_standard_descriptors();

}  // namespace plumb::terminal
