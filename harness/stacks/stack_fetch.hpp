// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace plumb::stacks {

/// A request to install packages as a stack.
struct FetchRequest {
  std::vector<std::string> packages;  ///< "onednn-cpu-gomp==2023.2.0", "libdnnl3.6==3.7.2+ds-2"
  std::string debian_release;         ///< "trixie"; empty: wheels of the package index
  std::string name;                   ///< of the stack; empty: the first package and version
  bool dependencies = true;           ///< of wheels; Debian's always come
};

/// Fetches packages as a new stack below `stacks_folder`: wheels, or packages of a Debian release.
/// Debian's come with their C library. The stack appears whole or not at all, and other stacks and
/// the system stay as they are. Downloads are checked (installer.hpp), and their SHA-256 are
/// kept in the stack's file. `log` receives the installer's lines. Returns the stack's name.
///
/// Throws Error{kUser} for a package without "==VERSION", a stack that exists already, a version
/// that does not exist for this machine, or packages without a known library. Throws
/// Error{kEnvironment} if the installer is missing or the folder cannot be written.
[[nodiscard]] std::string fetch_stack(const FetchRequest& request,
                                      const std::filesystem::path& stacks_folder,
                                      const std::function<void(const std::string&)>& log);

}  // namespace plumb::stacks
