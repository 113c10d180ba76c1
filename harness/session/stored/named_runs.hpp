// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/store/store.hpp"

namespace plumb::session {

/// Returns whether a name stands for several runs. Such a name is "A,B,C", or "TAG/*" for all runs
/// whose tag begins with "TAG/".
[[nodiscard]] bool names_several_runs(const std::string& name);

/// Returns the runs that a name stands for, each once. Throws Error{kUser} for a run that is not
/// there, and if no run has such a tag.
[[nodiscard]] std::vector<results::RunRecord> find_named_runs(const store::Store& store,
                                                              const std::string& name);

}  // namespace plumb::session
