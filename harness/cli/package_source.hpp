// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/cli/installer.hpp"

namespace plumb {

/// Folders for unpacking packages: the contents, and scratch that may be deleted afterwards.
struct UnpackTarget {
  std::filesystem::path scratch;  ///< exists
  std::filesystem::path content;  ///< is made
};

/// Downloads wheels ("NAME==VERSION") from the package index, with what they depend on if asked,
/// and unpacks them. The installer checks them against the index's hashes. Returns a line "SHA-256
/// FILE" for each wheel. Needs python3 with venv. Throws Error{kUser} for a version that does not
/// exist or has no wheel for this machine, Error{kEnvironment} without python3 or disk space.
[[nodiscard]] std::vector<std::string> unpack_wheels(const std::vector<std::string>& packages,
                                                     bool dependencies,
                                                     const UnpackTarget& target,
                                                     const LineSink& log);

/// Downloads packages ("NAME==VERSION") of a Debian release, "trixie" say, other than the
/// machine's own perhaps, with everything they depend on, the C library included, and unpacks them
/// without installing them. The mirror is the one that this machine uses; signatures and hashes are
/// checked by apt. Returns a line "SHA-256 FILE" for each package. Throws Error{kUser} for a
/// release or version that does not exist, with the versions there are, Error{kEnvironment} without
/// apt or disk space.
[[nodiscard]] std::vector<std::string> unpack_debian_packages(
    const std::string& release,
    const std::vector<std::string>& packages,
    const UnpackTarget& target,
    const LineSink& log);

}  // namespace plumb
