// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/results/json_fields.hpp"
#include "harness/results/profile/named_profile.hpp"

/// Fields of parts of a profile, for one that a worker took and for one that has names. For .cpp
/// files only, as json_object.hpp.

namespace plumb::results {

template <typename Fields>
void describe(Fields& fields, Described<Fields, SampledProfile::Step>& value) {
  fields("layers", value.layers);
  fields("key", value.key);
  fields("variant", value.variant);
  fields("reorder", value.reorder);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, SampledProfile::Block>& value) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  fields("executions", value.executions, {.high = kMost});
  fields("sampled_seconds", value.sampled, kMeasuredTime);
  fields("unsampled_seconds", value.unsampled, kMeasuredTime);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, SampledProfile::Mapping>& value) {
  fields.converted("begin", value.begin, wide_value, wide_from);
  fields.converted("end", value.end, wide_value, wide_from);
  fields.converted("offset", value.offset, wide_value, wide_from);
  fields("path", value.path);
  fields("build_id", value.build_id);
}

/// Writes samples by block as pairs, "[[0, 3], [2, 1]]". For .cpp files only: the header of the
/// JSON library is heavy.
[[nodiscard]] nlohmann::ordered_json counts_json(const BlockCounts& counts);
/// Reads what counts_json() wrote. Throws Error{kUser} for what does not ascend or is empty.
[[nodiscard]] BlockCounts counts_from(const nlohmann::json& pairs);
/// Throws Error{kUser}: samples are not of the blocks of a profile.
[[noreturn]] void refuse_counts();

/// Writes all that a listing holds.
[[nodiscard]] nlohmann::ordered_json to_json(const NamedProfile::Listing& listing);
/// Writes listings as an array.
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<NamedProfile::Listing>& listings);
/// Reads an array that to_json() wrote, of a profile with `blocks` blocks. Throws Error{kUser} that
/// names a field that is not valid.
[[nodiscard]] std::vector<NamedProfile::Listing> code_listings_from_json(
    const nlohmann::json& listings, std::size_t blocks);

/// Writes all that a profile holds, and nothing computed from it. For .cpp files only: the header
/// of the JSON library is heavy.
[[nodiscard]] nlohmann::ordered_json to_json(const NamedProfile& profile);
/// Reads what to_json() wrote, and ignores what a document holds besides. Throws Error{kUser} that
/// names a field that is not valid.
[[nodiscard]] NamedProfile named_profile_from_json(const nlohmann::json& document);

}  // namespace plumb::results
