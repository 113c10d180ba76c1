// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/analysis/qualify/qualification.hpp"

namespace plumb::session {

/// Reads the criteria of an upgrade: `[criteria]`, `[[waiver]]` and the file's SHA-256
/// (docs/guides/qualify-an-upgrade.md). What is left out has its default. Unknown keys are errors
/// that name the nearest known one. `today` ("2026-11-21") says which waivers have expired. Throws
/// Error{kUser} with file and line.
[[nodiscard]] analysis::Qualification::Criteria read_criteria(const std::filesystem::path& file,
                                                              const std::string& today);

}  // namespace plumb::session
