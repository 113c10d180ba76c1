// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace plumb::results {

/// Outcome of an attempt to measure. A failure is a result with a reason, never a missing row.
struct Outcome {
  enum class Kind {
    kOk,
    kUnsupported,  ///< the library refuses this key or variant here
    kOutOfMemory,
    kWrongResult,  ///< differs from the reference: never timed into a bound
    kTimedOut,
    kCrashed,   ///< the worker died; the reason names the signal
    kUnstable,  ///< measured, but no interval tight enough could be had
    kSkipped,   ///< not attempted (budget, a reference implementation while others exist); the
                ///< reason says why
  };
  Kind kind = Kind::kOk;
  std::string reason;  ///< empty for kOk

  [[nodiscard]] bool ok() const { return kind == Kind::kOk; }
  /// Returns whether there is a time to use, as with kOk and kUnstable.
  [[nodiscard]] bool timed() const { return kind == Kind::kOk || kind == Kind::kUnstable; }
  auto operator<=>(const Outcome&) const = default;
};

[[nodiscard]] std::string_view to_text(
    Outcome::Kind kind);  ///< "ok", "unsupported", "out_of_memory", …
[[nodiscard]] std::optional<Outcome::Kind> parse_outcome_kind(std::string_view text);

}  // namespace plumb::results
