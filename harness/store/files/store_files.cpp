// SPDX-License-Identifier: Apache-2.0
#include "harness/store/files/store_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"

namespace plumb::store {
namespace {

/// Sets the lock of one byte to `type`, and returns the error number or 0. The lock belongs to the
/// open file, not to the process: closing the file elsewhere in the process does not drop it.
int set_lock(const FileDescriptor& file, std::int64_t byte, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return fcntl(file.number(), F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

/// Returns the byte that stands for a run. Two runs with one byte would only wait for each other.
std::int64_t byte_of(std::string_view run) {
  const std::uint64_t hash = hash64(std::as_bytes(std::span(run)));
  return static_cast<std::int64_t>(hash % std::numeric_limits<std::int64_t>::max());
}

std::string cannot(const std::filesystem::path& path, const char* what, int error) {
  return fmt::format(
      "cannot {} '{}', which says who works on a run ({}): check the folder's permissions, the "
      "disk's space, and that the store is on a local disk",
      what,
      path.string(),
      std::strerror(error));
}

}  // namespace

LeaseFile::Lock::Lock(std::shared_ptr<const FileDescriptor> file, std::int64_t byte)
    : file_(std::move(file)), byte_(byte) {}

LeaseFile::Lock::~Lock() {
  if (file_ != nullptr) {
    (void)set_lock(*file_, byte_, F_UNLCK);
  }
}

LeaseFile::LeaseFile(const std::filesystem::path& store) {
  std::error_code error;
  path_ = std::filesystem::weakly_canonical(store, error);
  path_ = (error ? store : path_).string() + "-lease";
  auto file =
      std::make_shared<FileDescriptor>(open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (file->number() < 0) {
    throw Error(Error::Kind::kEnvironment, cannot(path_, "open", errno));
  }
  file_ = std::move(file);
}

std::optional<LeaseFile::Lock> LeaseFile::try_lock(std::string_view run) const {
  const std::int64_t byte = byte_of(run);
  const int error = set_lock(*file_, byte, F_WRLCK);
  if (error == EAGAIN || error == EACCES) {
    return std::nullopt;
  }
  if (error != 0) {
    throw Error(Error::Kind::kEnvironment, cannot(path_, "lock", error));
  }
  return Lock(file_, byte);
}

namespace {

namespace fs = std::filesystem;

fs::path log_of(fs::path store) {
  store += "-wal";
  return store;
}

std::pair<std::uintmax_t, fs::file_time_type> read_state(const fs::path& file) {
  return {fs::file_size(file), fs::last_write_time(file)};
}

}  // namespace

StoreCopy::StoreCopy(const fs::path& store) {
  std::error_code failure;
  std::string name = (fs::temp_directory_path(failure) / "plumb-store-XXXXXX").string();
  if (failure || ::mkdtemp(name.data()) == nullptr) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot make a temporary folder '{}' to read the store '{}' from: {}; "
                            "set TMPDIR to a folder that may be written",
                            name,
                            store.string(),
                            failure ? failure.message() : std::strerror(errno)));
  }
  folder_ = name;
  try {
    copy(store);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(folder_, failure);
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot copy the store '{}', whose folder cannot be written, to read "
                            "its log: {}; free some space, or set TMPDIR to a folder that has it",
                            store.string(),
                            error.code().message()));
  } catch (...) {
    fs::remove_all(folder_, failure);
    throw;
  }
}

void StoreCopy::copy(const fs::path& store) const {
  const fs::path log = log_of(store);
  const auto before = std::pair(read_state(store), read_state(log));
  fs::copy_file(log, log_of(path()));
  fs::copy_file(store, path());
  if (before != std::pair(read_state(store), read_state(log))) {
    throw Error(
        Error::Kind::kTryAgain,
        fmt::format("the store '{}' was written while it was read: try again", store.string()));
  }
}

StoreCopy::~StoreCopy() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

// Format: https://www.sqlite.org/fileformat2.html#walformat

namespace {

constexpr std::size_t kHeaderSize = 32;
constexpr std::size_t kFrameHeaderSize = 24;
constexpr std::uint32_t kMagic = 0x377F0682;  // the lowest bit: words are summed big-endian
constexpr std::uint32_t kVersion = 3007000;
constexpr std::uint32_t kMinPage = 512;
constexpr std::uint32_t kMaxPage = 65536;
constexpr int kMaxScans = 5;

using ByteSpan = std::span<const unsigned char>;
using Words = std::array<std::uint32_t, 2>;

std::uint32_t big_endian(ByteSpan bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes[at]) << 24U |
         static_cast<std::uint32_t>(bytes[at + 1]) << 16U |
         static_cast<std::uint32_t>(bytes[at + 2]) << 8U | bytes[at + 3];
}

std::uint32_t little_endian(ByteSpan bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes[at + 3]) << 24U |
         static_cast<std::uint32_t>(bytes[at + 2]) << 16U |
         static_cast<std::uint32_t>(bytes[at + 1]) << 8U | bytes[at];
}

Words words_at(ByteSpan bytes, std::size_t at) {
  return {big_endian(bytes, at), big_endian(bytes, at + 4)};
}

Words checksum(ByteSpan bytes, Words sum, bool sums_big_endian) {
  const auto word = sums_big_endian ? &big_endian : &little_endian;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum[0] += word(bytes, at) + sum[1];
    sum[1] += word(bytes, at + 4) + sum[0];
  }
  return sum;
}

/// What one reading of a log found.
struct Scan {
  std::array<unsigned char, kHeaderSize> header{};
  bool header_sound = true;
  std::size_t frames = 0;
  std::size_t sound_frames = 0;  ///< SQLite recovers no more than these
  std::size_t lost_commits = 0;  ///< ends of transactions of the same log after them
  bool last_only = false;        ///< only the last of them: it may be in writing, or cut off
};

bool read(std::ifstream& file, std::span<unsigned char> bytes) {
  file.read(static_cast<char*>(static_cast<void*>(bytes.data())),
            static_cast<std::streamsize>(bytes.size()));
  return file.gcount() == static_cast<std::streamsize>(bytes.size());
}

void scan_frames(std::ifstream& file, std::uint32_t page, Scan& scan) {
  const ByteSpan header(scan.header);
  const bool sums_big_endian = (big_endian(header, 0) & 1U) != 0;
  const Words salts = words_at(header, 16);
  Words before = words_at(header, 24);
  std::vector<unsigned char> frame(kFrameHeaderSize + page);
  bool sound = true;
  for (; read(file, frame); ++scan.frames) {
    const ByteSpan bytes(frame);
    const bool own = words_at(bytes, 8) == salts;
    const Words stored = words_at(bytes, 16);
    const bool matches = checksum(bytes.subspan(kFrameHeaderSize),
                                  checksum(bytes.first(8), before, sums_big_endian),
                                  sums_big_endian) == stored;
    // Frames of an older log may follow. Their salts are others, and the checksum of the first does
    // not go on from the newest frame.
    sound = sound && own && matches;
    if (sound) {
      ++scan.sound_frames;
    } else if ((own || (matches && scan.frames == scan.sound_frames)) &&
               big_endian(bytes, 4) != 0) {
      ++scan.lost_commits;
      scan.last_only = scan.lost_commits == 1 && scan.frames == scan.sound_frames && own;
    } else if (own && scan.lost_commits > 0) {
      scan.last_only = false;
    }
    before = stored;
  }
}

std::optional<Scan> scan_log(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Scan scan;
  if (!file || !read(file, scan.header)) {
    return std::nullopt;
  }
  const ByteSpan header(scan.header);
  const std::uint32_t page = big_endian(header, 8);
  const bool sums_big_endian = (big_endian(header, 0) & 1U) != 0;
  scan.header_sound = (big_endian(header, 0) & ~1U) == kMagic &&
                      big_endian(header, 4) == kVersion && page >= kMinPage && page <= kMaxPage &&
                      (page & (page - 1)) == 0 &&
                      checksum(header.first(24), {}, sums_big_endian) == words_at(header, 24);
  if (scan.header_sound) {
    scan_frames(file, page, scan);
  } else {
    std::error_code ignored;
    scan.frames = std::filesystem::file_size(path, ignored) > kHeaderSize + kMinPage ? 1 : 0;
  }
  return scan;
}

bool is_header_of(const std::filesystem::path& path, const Scan& scan) {
  std::ifstream file(path, std::ios::binary);
  std::array<unsigned char, kHeaderSize> header{};
  return file && read(file, header) && header == scan.header;
}

/// Reads the log until nobody seems to write to it, or it is plain that the damage is not writing.
std::optional<Scan> settled_scan(const std::filesystem::path& path) {
  std::optional<Scan> scan;
  for (int i = 0; i < kMaxScans; ++i) {
    scan = scan_log(path);
    if (!scan || (scan->header_sound && scan->lost_commits == 0)) {
      return scan;
    }
    if (is_header_of(path, *scan) && scan->header_sound && !scan->last_only) {
      return scan;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return scan && is_header_of(path, *scan) ? scan : std::nullopt;
}

}  // namespace

std::optional<std::string> read_log_damage(const std::filesystem::path& store) {
  std::filesystem::path path = store;
  path += "-wal";
  const std::optional<Scan> scan = settled_scan(path);
  if (!scan || scan->frames == 0) {
    return std::nullopt;
  }
  if (!scan->header_sound) {
    return fmt::format("the header of '{}' is damaged: none of its transactions can be recovered",
                       path.string());
  }
  if (scan->lost_commits == 0) {
    return std::nullopt;
  }
  if (scan->last_only) {
    return fmt::format(
        "the last transaction in '{}' is damaged, or was cut off: it cannot be "
        "recovered",
        path.string());
  }
  return fmt::format(
      "'{}' is damaged at frame {} of {}: the last {} of its transactions cannot be "
      "recovered",
      path.string(),
      scan->sound_frames + 1,
      scan->frames,
      scan->lost_commits);
}

}  // namespace plumb::store
