// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>

namespace plumb {

/// Writes a file beside its name, and then renames it. Others see all of it or what was there
/// before, and a full disk never leaves half of it. A file that was there keeps its mode bits.
///
/// A symbolic link stays: what it leads to is written, or made. What is no regular file, such as a
/// device or a pipe, and what standard output is, is written in place. Throws Error{kEnvironment}
/// with the system's reason if it cannot be written.
void write_whole_file(const std::filesystem::path& target,
                      const std::function<void(std::ostream&)>& write);

/// Makes a folder and those above it, if they are not there. Throws Error{kEnvironment} with the
/// system's reason if that fails.
void make_folder(const std::filesystem::path& folder);

}  // namespace plumb
