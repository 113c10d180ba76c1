// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb::results {

/// Case that a suite leaves out of gates, history and alerts for a limited time. It is measured
/// nevertheless, and every report lists it.
struct Exclusion {
  std::string match;  ///< a layer's key, a series, "SUBJECT" or "SUBJECT MODE"; '*': anything
  std::string reason;
  std::string who;    ///< who answers for it; may be empty
  std::string until;  ///< last day that it holds: "2027-01-31"

  [[nodiscard]] bool holds_on(std::string_view day) const { return day <= until; }

  bool operator==(const Exclusion&) const = default;
};

/// Kind of a run's record that holds the exclusions of its suite. They are no part of the suite's
/// hash, because they change nothing that is measured.
inline constexpr const char* kExclusionsRecord = "exclusions";

/// Returns whether a text is a day such as "2027-01-31".
[[nodiscard]] bool is_day(std::string_view text);

/// Finds the first exclusion that matches one of the names of a case. Null: there is none.
[[nodiscard]] const Exclusion* find_exclusion(const std::vector<Exclusion>& exclusions,
                                              const std::vector<std::string>& names);

/// Writes exclusions as a run's record, and reads them. Throws Error{kUser} for what is none.
[[nodiscard]] std::string to_json(const std::vector<Exclusion>& exclusions);
[[nodiscard]] std::vector<Exclusion> exclusions_from_json(const std::string& payload);

}  // namespace plumb::results
