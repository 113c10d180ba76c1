// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace plumb {

/// Says what to install as a stack.
struct FetchRequest {
  std::vector<std::string> packages;  ///< "onednn-cpu-gomp==2023.2.0"
  std::string name;                   ///< of the stack; empty: the first package and version
  bool dependencies = true;           ///< also what the packages depend on
};

/// Installs wheels from the package index, and nothing but wheels, as a stack of its own below
/// `stacks_folder`: all or nothing, other stacks untouched. The installer checks what it downloads
/// against the index's hashes; the wheels' SHA-256 are kept in the stack's file. `log` gets the
/// installer's lines. Returns the stack's name. Needs python3 with venv.
///
/// Throws Error{kUser} for a package without "==VERSION", a stack that exists already, a version
/// that does not exist or has no wheel for this machine, a wheel without a known library;
/// Error{kEnvironment} if python3 is missing or the folder cannot be written.
[[nodiscard]] std::string fetch_stack(const FetchRequest& request,
                                      const std::filesystem::path& stacks_folder,
                                      const std::function<void(const std::string&)>& log);

}  // namespace plumb
