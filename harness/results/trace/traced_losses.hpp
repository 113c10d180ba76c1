// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::results {

/// Kind of the records that keep the traces of a run, and what ends the subject of each: its mode.
inline constexpr const char* kTraceRecord = "trace";

/// What a traced execution of a model lost, as a run keeps it.
struct TracedLosses {
  /// Time that one kind of finding would give back.
  struct Loss {
    std::string finding;
    Seconds gain{};
    std::vector<std::string> layers;
    std::string evidence;
  };
  std::string mode;
  std::string stack;
  Seconds span{};                   ///< of the traced execution, or of its calls
  std::optional<Seconds> untraced;  ///< of an execution without the profiler
  std::vector<Loss> losses;         ///< only those with a gain
};

/// Reads the document of `plumb trace`. Throws Error{kUser} that names a field that is not valid.
[[nodiscard]] TracedLosses traced_losses_from_json(std::string_view text);

}  // namespace plumb::results
