// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/importers/symbols/code_map.hpp"

namespace plumb::importers {

/// Function whose code a dump holds.
struct DumpedFunction : NamedCode {
  std::uint64_t offset = 0;  ///< of its first byte in the dump
};

/// Functions that a program made while it ran, by address. None overlaps another.
struct JitDump {
  std::vector<DumpedFunction> functions;
  bool cut_off = false;  ///< the last record is not complete
};

inline constexpr std::size_t kMaxJitDumpBytes = std::size_t{1} << 30U;

/// Reads a file in the format jitdump of Linux's perf
/// (tools/perf/Documentation/jitdump-specification.txt), version 1, of this machine's byte order.
/// Of functions at the same addresses, the last one counts. Throws Error{kUser} for other bytes.
[[nodiscard]] JitDump read_jit_dump(std::string_view bytes);

}  // namespace plumb::importers
