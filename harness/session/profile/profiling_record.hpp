// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/base/units.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Kind of the record that says what a run's profiling did.
inline constexpr const char* kProfilingRecord = "profiling";

/// Report on the profiles that a run took, or why it took none.
struct ProfilingRecord {
  std::size_t models = 0;    ///< to be profiled
  std::size_t profiled = 0;  ///< of these
  Seconds spent{};           ///< in the pass, with the start of its workers
  Seconds allowed{};         ///< for it
  std::string reason;        ///< why not all were profiled; empty: all were
};

void put_profiling(store::Store& store, const results::RunId& run, const ProfilingRecord& record);
/// Returns the newest record of a run. Absent: the run was not to take profiles, or is older.
[[nodiscard]] std::optional<ProfilingRecord> read_profiling(const store::Store& store,
                                                            const results::RunId& run);

}  // namespace plumb::session
