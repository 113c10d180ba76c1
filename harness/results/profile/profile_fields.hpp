// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "harness/results/json_fields.hpp"
#include "harness/results/profile/sampled_profile.hpp"

/// Fields of parts of a profile, for one that a worker took and for one that has names. For .cpp
/// files only, as json_object.hpp.
namespace plumb::results {

template <typename Fields>
void describe(Fields& fields, Described<Fields, ProfiledStep>& value) {
  fields("layers", value.layers);
  fields("key", value.key);
  fields("variant", value.variant);
  fields("reorder", value.reorder);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ProfiledBlock>& value) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  fields("executions", value.executions, {.high = kMost});
  fields("sampled_seconds", value.sampled, kMeasuredTime);
  fields("unsampled_seconds", value.unsampled, kMeasuredTime);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, CodeMapping>& value) {
  fields.converted("begin", value.begin, wide_value, wide_from);
  fields.converted("end", value.end, wide_value, wide_from);
  fields.converted("offset", value.offset, wide_value, wide_from);
  fields("path", value.path);
  fields("build_id", value.build_id);
}

}  // namespace plumb::results
