// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plumb::session {

/// Returns the value of an environment variable. Absent: it is not set.
[[nodiscard]] std::optional<std::string> environment_variable(const char* name);

/// Returns $XDG_DATA_HOME/plumb or ~/.local/share/plumb. Absent: neither variable is set.
[[nodiscard]] std::optional<std::filesystem::path> known_data_folder();

/// Returns the folder below it for results that wait for a server. Absent: there is none.
[[nodiscard]] std::optional<std::filesystem::path> spool_folder();

/// Returns the same. Throws Error{kEnvironment} if neither variable is set.
[[nodiscard]] std::filesystem::path data_folder();

/// Returns $XDG_CACHE_HOME/plumb or ~/.cache/plumb: what may be deleted at any time, such as
/// builds. Throws Error{kEnvironment} if neither variable is set.
[[nodiscard]] std::filesystem::path cache_folder();

/// Returns $PLUMB_STORE, or else `sqlite:` and the path of the default store in the data folder.
[[nodiscard]] std::string default_store_url();

/// Returns the name of the user who runs this program, or "uid 1000" if the system knows none.
[[nodiscard]] std::string user_name();

/// Returns the folder of this executable, or the working folder if that is unknown.
[[nodiscard]] std::filesystem::path executable_folder();

/// Finds a suite by path, or by name in the data folder or the installation. Throws Error{kUser}
/// listing where it looked.
[[nodiscard]] std::filesystem::path find_suite(const std::string& name);

/// Folder for what a worker writes: the named one, or one that is removed again.
class RawFolder {
 public:
  /// Makes the folder. Empty name: one for temporary files. Throws Error{kEnvironment}.
  explicit RawFolder(const std::string& named);
  ~RawFolder();
  RawFolder(const RawFolder&) = delete;
  RawFolder& operator=(const RawFolder&) = delete;
  RawFolder(RawFolder&&) = delete;
  RawFolder& operator=(RawFolder&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  bool kept_;
  std::filesystem::path path_;
};

}  // namespace plumb::session
