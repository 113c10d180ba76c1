// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "harness/base/timestamp.hpp"

namespace plumb::importers {

/// Moment as another tool wrote it.
struct ImportedDate {
  Timestamp time{};
  bool has_zone = false;  ///< false: the text names no zone, and UTC is taken
};

/// Parses a date with a time of day in the forms that tools write. These are RFC 3339 with an
/// offset, "2019-05-03 14:05:17", "2016/08/02-14:05:17", "2021.01.01 3:00:00 +0100" and whole
/// seconds or milliseconds since 1970. Absent: it is none of them. Pure.
[[nodiscard]] std::optional<ImportedDate> parse_imported_date(std::string_view text);

}  // namespace plumb::importers
