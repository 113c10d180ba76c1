// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/environment.hpp"

namespace plumb::results {

/// Name of the implementation that executes a batch in parts.
inline constexpr std::string_view kDividedBatch = "plumb:micro_batch";

/// Equal parts of a divided batch.
struct BatchParts {
  std::int64_t count = 1;
  std::int64_t batch = 1;  ///< of each
  std::string variant;     ///< that executes each

  auto operator<=>(const BatchParts&) const = default;
};

/// Writes the variant that executes a batch in parts, one after the other:
/// "impl=plumb:micro_batch;parts=3*4[impl=…]+1*2[impl=…]".
[[nodiscard]] std::string divided_variant(const std::vector<BatchParts>& parts);

/// Reads what divided_variant() writes. Absent: it is another variant.
[[nodiscard]] std::optional<std::vector<BatchParts>> divided_parts(std::string_view variant);

/// Adds the cap of workspace under which batches were divided to the facts of a run.
void add_workspace_cap(Bytes cap, Environment& environment);
/// Returns the cap that a run's facts name. Absent: none.
[[nodiscard]] std::optional<Bytes> workspace_cap_of(const Environment& environment);

}  // namespace plumb::results
