// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/analysis/report/bisection.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Options for the search for the first stack on which a layer is worse.
struct BisectionOptions {
  std::string key;
  std::string good;                 ///< a stack on which the layer is as it should be
  std::string bad;                  ///< a stack on which it is worse
  std::vector<std::string> stacks;  ///< that may lie between; none: all of the backend
  Seconds row_timeout{60.0};
  std::size_t pairs = 20;  ///< a stack, at most
  double drift = 0.10;     ///< of a control within a pair, for the pair to count
  int threads = 1;
};

/// Searches for the first stack on which a layer is slower or broken, each against the good one in
/// pairs. Throws Error{kRefused} if stacks differ in more than their libraries.
[[nodiscard]] analysis::Bisection search_stacks(const SessionContext& context,
                                                const BisectionOptions& options);

}  // namespace plumb::session
