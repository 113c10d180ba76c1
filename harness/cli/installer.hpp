// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb {

/// Receives a line that an installer wrote.
using LineSink = std::function<void(const std::string&)>;

/// Finds a program among the distribution's own, then in PATH. Throws Error{kEnvironment} with
/// `how_to_get` if it is not there.
[[nodiscard]] std::string find_program(const std::string& name, const std::string& how_to_get);

/// Runs a program to its end in the surrounding environment, its output handed on line by line.
/// Throws Error{kind}, `what` and its last lines, if it fails.
void run_installer(const std::string& program,
                   const std::vector<std::string>& arguments,
                   const LineSink& log,
                   Error::Kind kind,
                   const std::string& what);

}  // namespace plumb
