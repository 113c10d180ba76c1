// SPDX-License-Identifier: Apache-2.0
#include "harness/base/file_io.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb {

FileDescriptor::Buffer::Buffer(int descriptor) : descriptor_(descriptor) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

FileDescriptor::Buffer::int_type FileDescriptor::Buffer::overflow(int_type character) {
  if (sync() != 0) {
    return traits_type::eof();
  }
  if (!traits_type::eq_int_type(character, traits_type::eof())) {
    sputc(traits_type::to_char_type(character));
  }
  return traits_type::not_eof(character);
}

int FileDescriptor::Buffer::sync() {
  for (const char* next = pbase(); next < pptr() && fault_ == 0;) {
    const ssize_t written = ::write(descriptor_, next, static_cast<std::size_t>(pptr() - next));
    if (written >= 0) {
      next += written;
    } else if (errno != EINTR) {
      fault_ = errno;
    }
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return fault_ == 0 ? 0 : -1;
}

namespace {

using Write = std::function<void(std::ostream&)>;

constexpr int kMaxLinks = 40;  // as many as Linux follows

[[noreturn]] void fail(const std::filesystem::path& target, int reason) {
  throw Error(Error::Kind::kEnvironment,
              fmt::format("cannot write '{}': {}: check the folder, its permissions and the space "
                          "on the disk",
                          target.string(),
                          std::generic_category().message(reason)));
}

/// An open file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { static_cast<void>(close()); }

  [[nodiscard]] int value() const { return value_; }
  /// Closes the file. Returns the `errno` of what could not be written, or 0.
  [[nodiscard]] int close() {
    const int descriptor = std::exchange(value_, -1);
    return descriptor < 0 || ::close(descriptor) == 0 ? 0 : errno;
  }

 private:
  int value_;
};

/// Part of a file that is written, removed unless it is renamed to the file.
class Part {
 public:
  explicit Part(const std::filesystem::path& file)
      : path_(fmt::format("{}.{}.part", file.string(), ::getpid())) {
    ::unlink(path_.c_str());  // what a killed process of this number left
  }
  Part(const Part&) = delete;
  Part(Part&&) = delete;
  Part& operator=(Part&&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (!path_.empty()) {
      ::unlink(path_.c_str());
    }
  }

  [[nodiscard]] const char* path() const { return path_.c_str(); }
  /// Returns the `errno` of a renaming that failed, or 0.
  [[nodiscard]] int rename_to(const std::filesystem::path& file) {
    if (std::rename(path_.c_str(), file.c_str()) != 0) {
      return errno;
    }
    path_.clear();
    return 0;
  }

 private:
  std::string path_;
};

/// Writes into an open file. Returns the `errno` of a write that failed, or 0.
int write_into(int descriptor, const Write& write) {
  FileDescriptor::Buffer buffer(descriptor);
  std::ostream out(&buffer);
  write(out);
  out.flush();
  return buffer.fault() == 0 && !out ? EIO : buffer.fault();
}

std::optional<struct stat> read_status(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::optional(status) : std::nullopt;
}

bool is_standard_output(const struct stat& file) {
  struct stat output {};
  return ::fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev &&
         output.st_ino == file.st_ino;
}

/// Returns the path at the end of a chain of symbolic links, which need not exist.
std::filesystem::path behind_links(const std::filesystem::path& target) {
  std::filesystem::path path = target;
  std::error_code fault;
  for (int links = 0; std::filesystem::is_symlink(path, fault); ++links) {
    if (links == kMaxLinks) {
      fail(target, ELOOP);
    }
    path = path.parent_path() / std::filesystem::read_symlink(path, fault);
    if (fault) {
      fail(target, fault.value());
    }
  }
  return path;
}

void write_in_place(const std::filesystem::path& target, const Write& write) {
  Descriptor file(::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.value() < 0) {
    fail(target, errno);
  }
  const int fault = write_into(file.value(), write);
  const int closing = file.close();
  if (fault != 0 || closing != 0) {
    fail(target, fault != 0 ? fault : closing);
  }
}

void replace(const std::filesystem::path& target,
             const std::optional<struct stat>& known,
             const Write& write) {
  const std::filesystem::path file = behind_links(target);
  Part part(file);
  Descriptor out(::open(part.path(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (out.value() < 0) {
    fail(target, errno);
  }
  int fault = write_into(out.value(), write);
  if (fault == 0 && known) {
    // Only root may keep another's file another's. The mode comes last: chown clears bits of it.
    static_cast<void>(::fchown(out.value(), known->st_uid, known->st_gid) == 0);
    fault = ::fchmod(out.value(), known->st_mode & 07777U) == 0 ? 0 : errno;
  }
  const int closing = out.close();
  fault = fault != 0 ? fault : closing;
  fault = fault != 0 ? fault : part.rename_to(file);
  if (fault != 0) {
    fail(target, fault);
  }
}

}  // namespace

void write_whole_file(const std::filesystem::path& target,
                      const std::function<void(std::ostream&)>& write) {
  const std::optional<struct stat> known = read_status(target);
  if (known && is_standard_output(*known)) {
    std::cout.flush();
    if (const int fault = write_into(STDOUT_FILENO, write); fault != 0) {
      fail(target, fault);
    }
  } else if (known && !S_ISREG(known->st_mode)) {
    write_in_place(target, write);
  } else {
    replace(target, known, write);
  }
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot make the folder '{}': {}", folder.string(), error.message()));
  }
}

}  // namespace plumb
