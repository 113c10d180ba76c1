// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <streambuf>
#include <utility>

namespace plumb {

/// Owner of one file descriptor, which it closes when destroyed.
class FileDescriptor {
 public:
  /// Stream buffer over an open file descriptor, which it does not own. It keeps the first fault of
  /// a write; what comes behind one is dropped.
  class Buffer final : public std::streambuf {
   public:
    explicit Buffer(int descriptor);

    /// Returns the `errno` of the first write that failed, or 0.
    [[nodiscard]] int fault() const noexcept { return fault_; }

   protected:
    int_type overflow(int_type character) override;
    int sync() override;

   private:
    int descriptor_;
    int fault_ = 0;
    std::array<char, 1U << 14U> bytes_{};
  };

  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  /// Returns the number, or -1 if nothing is owned.
  [[nodiscard]] int number() const { return number_; }
  /// Closes the descriptor, if one is owned.
  void reset() {
    if (number_ >= 0) {
      ::close(number_);
      number_ = -1;
    }
  }

 private:
  int number_ = -1;
};

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
