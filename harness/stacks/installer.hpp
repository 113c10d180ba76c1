// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::stacks {

/// Receiver of the lines that an installer writes.
using LineSink = std::function<void(const std::string&)>;

/// Finds a program in /usr/bin, then in PATH. Throws Error{kEnvironment} with `how_to_get` if it is
/// in neither.
[[nodiscard]] std::string find_program(const std::string& name, const std::string& how_to_get);

/// Runs a program to its end with this process's variables, and passes its output to `log`. Throws
/// Error{kind} with `what` and the last lines of output if it fails.
void run_installer(const std::string& program,
                   const std::vector<std::string>& arguments,
                   const LineSink& log,
                   Error::Kind kind,
                   const std::string& what);

}  // namespace plumb::stacks
