// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/profile/named_profile.hpp"

namespace plumb::results {

/// Encodes blocks of executions: for each, its number as a varint and both times as doubles.
[[nodiscard]] std::string encode_blocks(const std::vector<ProfiledBlock>& blocks);
/// Decodes what encode_blocks() wrote. Absent: the bytes are anything else.
[[nodiscard]] std::optional<std::vector<ProfiledBlock>> decode_blocks(std::string_view bytes);

/// Encodes samples by block as pairs of varints: the distance to the block before, and the samples.
[[nodiscard]] std::string encode_counts(const std::vector<ProfileCell::Count>& counts);
/// Decodes what encode_counts() wrote for a profile of so many blocks. Absent: the bytes are
/// anything else.
[[nodiscard]] std::optional<std::vector<ProfileCell::Count>> decode_counts(std::string_view bytes,
                                                                           std::size_t blocks);

}  // namespace plumb::results
