// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/results/labels/run_labels.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/stacks/built/build_cache.hpp"

namespace plumb::session {

/// Stack that a command of the user's has just built.
struct BuiltStack {
  std::string stack;          ///< absolute path of its folder
  results::RunLabels labels;  ///< the commit, where the folder lies in a git repository
};

/// Runs a build command by `sh -c` in the working folder. Absent: the user stopped it. Throws
/// Error{kUser} with the end of its log if it fails, or if the folder is then no stack.
[[nodiscard]] std::optional<BuiltStack> build_stack(const stacks::BuildRecipe& recipe,
                                                    const std::atomic<bool>& stop,
                                                    ProgressDisplay& display);

}  // namespace plumb::session
