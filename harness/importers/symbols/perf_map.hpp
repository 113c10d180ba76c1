// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "harness/importers/symbols/code_map.hpp"

namespace plumb::importers {

inline constexpr std::size_t kMaxPerfMapBytes = std::size_t{1} << 28U;

/// Reads a file in the format of `/tmp/perf-PID.map` (tools/perf/Documentation/jit-interface.txt of
/// Linux): "BEGIN SIZE NAME" on each line, in hexadecimal. Returns the functions by address.
///
/// Of functions at the same addresses, the last one counts. Lines of another form are left out, and
/// a last one without its end. Throws Error{kUser} for a text without any function.
[[nodiscard]] std::vector<NamedCode> read_perf_map(std::string_view text);

}  // namespace plumb::importers
