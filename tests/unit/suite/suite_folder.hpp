// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "harness/base/error.hpp"

namespace plumb::suite {

/// Makes a folder of its own for one test and removes it afterwards.
class SuiteFolder {
 public:
  SuiteFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plumb-suite-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~SuiteFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  SuiteFolder(const SuiteFolder&) = delete;
  SuiteFolder& operator=(const SuiteFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(std::string_view name, std::string_view text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// Returns what `action` throws, with the folder's path cut off, so that messages can be compared
/// whole.
template <typename Action>
std::string user_error(const SuiteFolder& folder, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    std::string text = error.what();
    const std::string prefix = folder.path().string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
    return error.kind() == Error::Kind::kUser ? text : "not a user error: " + text;
  }
  return "no error";
}

}  // namespace plumb::suite
