// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::stacks {

/// How a program ended. It did well if `problem` is empty.
struct ProgramEnd {
  /// Bounds of a program that runs to its end.
  struct Limits {
    Seconds time{600.0};
    std::size_t output = std::size_t{64} << 20;  ///< bytes kept; what is beyond is read and dropped
  };

  std::string problem;            ///< "exited with status 2", "was stopped after 600 s"
  bool stopped = false;           ///< by the user
  std::vector<std::string> tail;  ///< the last lines of its output
};

/// Runs a program to its end, with this process's variables but those by which git is told of
/// another repository. What it writes goes to `write`, and its last lines are kept.
///
/// It is asked to end when its time is over or `stop` is set, and killed 5 s later. What it started
/// is killed with it. `report` is called about twice a second. Throws Error{kEnvironment} if it
/// cannot be started.
[[nodiscard]] ProgramEnd run_program(const std::filesystem::path& program,
                                     const std::vector<std::string>& arguments,
                                     const ProgramEnd::Limits& limits,
                                     const std::atomic<bool>& stop,
                                     const std::function<void(std::string_view)>& write,
                                     const std::function<void(Seconds elapsed)>& report);

/// Runs a command of the user's by `sh -c` in a folder, and writes what it prints to `log`. Returns
/// and throws as run_program() does.
[[nodiscard]] ProgramEnd run_build(const std::string& command,
                                   const std::filesystem::path& folder,
                                   Seconds time_limit,
                                   const std::filesystem::path& log,
                                   const std::atomic<bool>& stop,
                                   const std::function<void(Seconds elapsed)>& report);

}  // namespace plumb::stacks
