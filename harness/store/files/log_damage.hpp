// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace plumb::store {

/// Returns which transactions in the write-ahead log of a store cannot be recovered because the log
/// is damaged. Absent: none. SQLite itself says nothing: it takes the log to end before the first
/// frame that does not match its checksum. Other processes may write meanwhile. A log that cannot
/// be read has no damage that this function knows of.
[[nodiscard]] std::optional<std::string> read_log_damage(const std::filesystem::path& store);

}  // namespace plumb::store
