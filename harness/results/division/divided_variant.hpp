// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/run.hpp"

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

/// Sizes of the parts into which a batch may be divided, as µ-cuDNN names them.
enum class DivisionPolicy {
  kUndivided,    ///< the batch alone
  kPowersOfTwo,  ///< 1, 2, 4 … up to the batch, and the batch
  kAll,          ///< every size
};
inline constexpr std::array kBatchPolicies = {
    DivisionPolicy::kUndivided, DivisionPolicy::kPowersOfTwo, DivisionPolicy::kAll};
[[nodiscard]] std::string_view to_text(
    DivisionPolicy policy);  ///< "undivided", "powers_of_two", "all"
/// Reads what to_text() writes. Absent: the text is another.
[[nodiscard]] std::optional<DivisionPolicy> parse_batch_policy(std::string_view text);

/// Rule by which the batches of a run are divided.
struct DivisionRule {
  Bytes workspace_cap{std::int64_t{64} << 20};  ///< of each layer; µ-cuDNN's where nothing is said
  DivisionPolicy policy = DivisionPolicy::kPowersOfTwo;
};

/// Adds the rule by which batches were divided to the facts of a run.
void add_division_rule(const DivisionRule& rule, Environment& environment);
/// Returns the rule that a run's facts name. Without a policy it is that of the default. Absent:
/// they name no cap.
[[nodiscard]] std::optional<DivisionRule> division_rule_of(const Environment& environment);

}  // namespace plumb::results
