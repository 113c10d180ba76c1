// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace plumb {

/// A request to install packages as a stack.
struct FetchRequest {
  std::vector<std::string> packages;  ///< "onednn-cpu-gomp==2023.2.0", "libdnnl3.6==3.7.2+ds-2"
  std::string debian_release;         ///< "trixie"; empty: wheels of the package index
  std::string name;                   ///< of the stack; empty: the first package and version
  bool dependencies = true;           ///< of wheels; Debian's come always
};

/// Unpacks wheels of the package index, or packages of a Debian release with their C library, as a
/// stack of its own below `stacks_folder`: all or nothing, other stacks and the system untouched.
/// What is downloaded is checked (package_source.hpp), and the files' SHA-256 are kept in the
/// stack's file. `log` gets the installer's lines. Returns the stack's name.
///
/// Throws Error{kUser} for a package without "==VERSION", a stack that exists already, a version
/// that does not exist or is not there for this machine, packages without a known library;
/// Error{kEnvironment} if the installer is missing or the folder cannot be written.
[[nodiscard]] std::string fetch_stack(const FetchRequest& request,
                                      const std::filesystem::path& stacks_folder,
                                      const std::function<void(const std::string&)>& log);

}  // namespace plumb
