// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/loadgen/load_result.hpp"

namespace plumb::loadgen {

/// Statement of both logs about their origin.
inline constexpr std::string_view kMlperfUnverified =
    "Unverified: not reviewed by MLCommons, and not made by its LoadGen. Result not verified by "
    "MLCommons Association.";

[[nodiscard]] std::string_view mlperf_name(LoadScenario scenario);  ///< "SingleStream", …
[[nodiscard]] std::string_view mlperf_name(LoadMode mode);          ///< "PerformanceOnly", …

/// Returns the result of early stopping, in LoadGen's lines. Empty where it does not apply.
[[nodiscard]] std::vector<std::string> early_stopping_lines(const LoadResult& result);

/// Returns whether a result has no shortfall of this kind.
[[nodiscard]] bool is_met(const LoadResult& result, Shortfall::Kind kind);
/// Returns the shortfalls that LoadGen would log as errors, or stop at: samples dropped, failed or
/// miscounted.
[[nodiscard]] std::vector<std::string> error_texts(const LoadResult& result);
/// Returns the other shortfalls, which are the reasons why a result without errors is invalid.
[[nodiscard]] std::vector<std::string> reason_texts(const LoadResult& result);

}  // namespace plumb::loadgen
