// SPDX-License-Identifier: Apache-2.0
// Format: https://www.sqlite.org/fileformat2.html#walformat
#include "harness/store/files/log_damage.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <thread>
#include <vector>

namespace plumb::store {
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
