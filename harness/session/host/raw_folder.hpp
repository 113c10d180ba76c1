// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace plumb::session {

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
