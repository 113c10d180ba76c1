// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/analysis/report/qualification_report.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Kind of the candidate's derived record that holds a qualification, as to_json() writes it.
inline constexpr const char* kQualificationRecord = "qualification";

/// Adds the store's earlier answers to the same question, newest first.
[[nodiscard]] analysis::QualificationReport with_history(const store::Store& store,
                                                         analysis::Qualification qualification);

/// Finds the newest qualification that measured two runs. Absent: there is none. Throws
/// Error{kUser} for a run that is not there.
[[nodiscard]] std::optional<analysis::QualificationReport> kept_qualification(
    const store::Store& store, const std::string& baseline, const std::string& candidate);

}  // namespace plumb::session
