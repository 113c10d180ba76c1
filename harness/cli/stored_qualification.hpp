// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/store/store.hpp"
#include "reporting/qualification_report.hpp"

namespace plumb {

/// Names the derived records, of the candidate's run, that hold a qualification as to_json() writes
/// it.
inline constexpr const char* kQualificationRecord = "qualification";

/// Adds what the store knows of earlier answers to the same question.
[[nodiscard]] QualificationReport with_history(const Store& store, Qualification qualification);

/// Finds the newest qualification that measured two runs; absent: there is none. Throws
/// Error{kUser} for a run that is not there.
[[nodiscard]] std::optional<QualificationReport> kept_qualification(const Store& store,
                                                                    const std::string& baseline,
                                                                    const std::string& candidate);

}  // namespace plumb
