// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::stacks {

/// Receiver of the lines that an installer writes.
using LineSink = std::function<void(const std::string&)>;

/// Finds a program in /usr/bin, then in PATH. Throws Error{kEnvironment} with `how_to_get` if it is
/// in neither.
[[nodiscard]] std::string find_program(const std::string& name, const std::string& how_to_get);

/// Runs a program to its end with this process's variables, and passes its output to `log`. Throws
/// Error{kind} with `what` and the last lines of output if it fails.
void run_installer(const std::string& program,
                   const std::vector<std::string>& arguments,
                   const LineSink& log,
                   Error::Kind kind,
                   const std::string& what);

/// Backend of stacks that hold PyTorch.
inline constexpr const char* kPyTorchBackend = "pytorch";

/// Returns what is asked of the package index for packages ("NAME==VERSION"). "pytorch" is called
/// "torch" there. With it come the packages that its worker needs, in versions that fit it.
[[nodiscard]] std::vector<std::string> wheel_requirements(std::vector<std::string> packages);

/// Returns the variables with which a worker in Python finds the packages in a folder. They also
/// name the interpreter that the packages were fetched for.
[[nodiscard]] std::map<std::string, std::string> python_variables(
    const std::filesystem::path& folder);

/// A request to install packages as a stack.
struct FetchRequest {
  /// Folders for unpacking packages: the contents, and scratch that may be deleted afterwards.
  struct Target {
    std::filesystem::path scratch;  ///< exists already
    std::filesystem::path content;  ///< is created
  };

  std::vector<std::string> packages;  ///< "onednn-cpu-gomp==2023.2.0", "libdnnl3.6==3.7.2+ds-2"
  std::string debian_release;         ///< "trixie"; empty: wheels of the package index
  std::string name;                   ///< of the stack; empty: the first package and version
  bool dependencies = true;           ///< of wheels; Debian's always come
};

/// Downloads wheels ("NAME==VERSION") from the package index and unpacks them. `dependencies` adds
/// the wheels that they depend on. The installer checks them against the index's hashes. Returns a
/// line "SHA-256 FILE" for each wheel. Needs python3 with venv. Throws Error{kUser} for a version
/// that does not exist or has no wheel for this machine, Error{kEnvironment} without python3 or
/// disk space.
[[nodiscard]] std::vector<std::string> unpack_wheels(const std::vector<std::string>& packages,
                                                     bool dependencies,
                                                     const FetchRequest::Target& target,
                                                     const LineSink& log);

/// Downloads packages ("NAME==VERSION") of a Debian release, such as "trixie", and unpacks them.
/// The release may differ from the machine's own, and nothing is installed. Dependencies are
/// included, down to the C library. The packages come from this machine's mirror, and apt checks
/// signatures and hashes. Returns a line "SHA-256 FILE" for each package. Throws Error{kUser} for a
/// release or version that does not exist, with the versions that do, Error{kEnvironment} without
/// apt or disk space.
[[nodiscard]] std::vector<std::string> unpack_debian_packages(
    const std::string& release,
    const std::vector<std::string>& packages,
    const FetchRequest::Target& target,
    const LineSink& log);

/// Fetches packages as a new stack below `stacks_folder`: wheels, or packages of a Debian release.
/// Debian's come with their C library. The stack appears whole or not at all, and other stacks and
/// the system stay as they are. Downloads are checked (unpack_wheels()), and their SHA-256 are
/// kept in the stack's file. `log` receives the installer's lines. Returns the stack's name.
///
/// Throws Error{kUser} for a package without "==VERSION", a stack that exists already, a version
/// that does not exist for this machine, or packages without a known library. Throws
/// Error{kEnvironment} if the installer is missing or the folder cannot be written.
[[nodiscard]] std::string fetch_stack(const FetchRequest& request,
                                      const std::filesystem::path& stacks_folder,
                                      const std::function<void(const std::string&)>& log);

}  // namespace plumb::stacks
