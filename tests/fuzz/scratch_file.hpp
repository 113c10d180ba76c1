// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace plumb::test {

/// File of this process, in memory where there is such a folder, for readers that take a path.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name) {
    std::error_code error;
    const std::filesystem::path memory = "/dev/shm";
    folder_ = std::filesystem::is_directory(memory, error) ? memory
                                                           : std::filesystem::temp_directory_path();
    folder_ /= "plumb-fuzz-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    path_ = folder_ / name;
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  /// Replaces the content, and returns the path.
  const std::filesystem::path& write(const std::uint8_t* data, std::size_t size) {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    return path_;
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace plumb::test
