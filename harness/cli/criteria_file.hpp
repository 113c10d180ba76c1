// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/analyze/qualification_criteria.hpp"

namespace plumb {

/// Reads what an upgrade must keep to (docs/guides/qualify-an-upgrade.md): `[criteria]` and
/// `[[waiver]]`, with the file's SHA-256. What is left out has its default; unknown keys are errors
/// that name the nearest known one. `today` ("2026-11-21") says which waivers have expired. Throws
/// Error{kUser} with file and line.
[[nodiscard]] QualificationCriteria read_criteria(const std::filesystem::path& file,
                                                  const std::string& today);

}  // namespace plumb
