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

/// Identity of a variant, read from its canonical text:
/// "impl=brgconv:avx512_core;layout=any;algorithm=direct". It refers to that text.
class VariantId {
 public:
  /// Rule by which the batches of a run are divided.
  struct DivisionRule {
    /// Choice of the sizes of the parts into which a batch may be divided, as µ-cuDNN names them.
    enum class Policy {
      kUndivided,    ///< the batch alone
      kPowersOfTwo,  ///< 1, 2, 4 … up to the batch, and the batch
      kAll,          ///< every size
    };

    Bytes workspace_cap{std::int64_t{64}
                        << 20};  ///< of each layer; µ-cuDNN's where nothing is said
    Policy policy = Policy::kPowersOfTwo;
  };

  /// Equal parts of a divided batch.
  struct Parts {
    std::int64_t count = 1;
    std::int64_t batch = 1;  ///< of each
    std::string variant;     ///< that executes each

    auto operator<=>(const Parts&) const = default;
  };

  explicit VariantId(std::string_view text) : text_(text) {}

  /// Returns the value of a field. Absent: empty. Fields of parts in brackets do not count.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  /// Returns the library's name of the implementation: "brgconv:avx512_core".
  [[nodiscard]] std::string_view implementation() const { return field("impl"); }
  /// Returns the layout of activations. It is "any" where the library chooses it too, else the one
  /// that the caller fixed.
  [[nodiscard]] std::string_view layout() const { return field("layout"); }
  /// Returns whether the caller fixed a layout with the channels last. Where the library chooses
  /// the layout, the text does not tell.
  [[nodiscard]] bool has_channels_last() const {
    return layout() == "channels_last" || layout() == "NHWC";
  }
  /// Returns whether the implementation is Plumbline's and not the library's.
  [[nodiscard]] bool is_own() const {
    return implementation().substr(0, implementation().find(':')) == "plumb";
  }

 private:
  std::string_view text_;
};

/// Name of the implementation that executes a batch in parts.
inline constexpr std::string_view kDividedBatch = "plumb:micro_batch";

/// Writes the variant that executes a batch in parts, one after the other:
/// "impl=plumb:micro_batch;parts=3*4[impl=…]+1*2[impl=…]".
[[nodiscard]] std::string divided_variant(const std::vector<VariantId::Parts>& parts);

/// Reads what divided_variant() writes. Absent: it is another variant.
[[nodiscard]] std::optional<std::vector<VariantId::Parts>> divided_parts(std::string_view variant);

inline constexpr std::array kBatchPolicies = {VariantId::DivisionRule::Policy::kUndivided,
                                              VariantId::DivisionRule::Policy::kPowersOfTwo,
                                              VariantId::DivisionRule::Policy::kAll};

[[nodiscard]] std::string_view to_text(
    VariantId::DivisionRule::Policy policy);  ///< "undivided", "powers_of_two", "all"

/// Reads what to_text() writes. Absent: the text is another.
[[nodiscard]] std::optional<VariantId::DivisionRule::Policy> parse_batch_policy(
    std::string_view text);

/// Adds the rule by which batches were divided to the facts of a run.
void add_division_rule(const VariantId::DivisionRule& rule, Environment& environment);
/// Returns the rule that a run's facts name. Without a policy it is that of the default. Absent:
/// they name no cap.
[[nodiscard]] std::optional<VariantId::DivisionRule> division_rule_of(
    const Environment& environment);

}  // namespace plumb::results
