// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::reporting {

/// Returns a quantity for people, with a fitting unit and three or four significant digits.
/// Independent of the locale.
[[nodiscard]] std::string time_text(Seconds time);      ///< "1.234 ms"
[[nodiscard]] std::string bytes_text(Bytes amount);     ///< "97.5 MiB"
[[nodiscard]] std::string count_text(double count);     ///< "3.858 G"
[[nodiscard]] std::string duration_text(Seconds time);  ///< "3 d", "2 h", "45 s": ages
/// Returns the time between two moments: "2 h", or "? (clock set back)".
[[nodiscard]] std::string age_text(Timestamp begin, Timestamp end);
/// Returns a time with its relative half-width: "1.234 ms ± 0.4 %".
[[nodiscard]] std::string with_interval(Seconds time, const measure::Interval& interval);
/// Returns the median, with its relative half-width if it has an interval. "–": no samples.
[[nodiscard]] std::string with_interval(const measure::SampleSummary& time);
[[nodiscard]] std::string share_text(double share, int decimals = 1);  ///< "12.3 %"
[[nodiscard]] std::string signed_share_text(double share);             ///< "+12.3 %", "−0.4 %"
[[nodiscard]] std::string ratio_text(double ratio);                    ///< "1.27×"
[[nodiscard]] std::string change_text(Seconds change);  ///< "+1.234 ms", "−5.000 µs"
/// Returns how many there are of what a word names: "1 layer", "2 layers".
[[nodiscard]] std::string counted(std::size_t count, const char* noun);

/// Returns what a backend says of a row on one line: "engine 62 · tensor_cores yes · power_watts
/// 310 (309 to 312)". Of long texts it has only the length. Empty: the backend says nothing.
[[nodiscard]] std::string attribute_text(const results::Attributes& attributes,
                                         const results::Readings& readings);

}  // namespace plumb::reporting
