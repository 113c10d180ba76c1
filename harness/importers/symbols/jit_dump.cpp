// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/symbols/jit_dump.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

constexpr std::uint32_t kMagic = 0x4A695444;  // "JiTD"
constexpr std::uint32_t kSwappedMagic = 0x4454694A;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 40;
constexpr std::size_t kRecordBytes = 16;  // of each record's own header
constexpr std::size_t kLoadBytes = 40;    // before the name of a load
constexpr std::size_t kMoveBytes = 48;
constexpr std::uint32_t kLoad = 0;
constexpr std::uint32_t kMove = 1;

/// Reads a number at a place that lies inside.
template <typename Number>
Number number_at(std::string_view bytes, std::size_t place) {
  Number number{};
  std::memcpy(&number, bytes.data() + place, sizeof number);
  return number;
}

void check_header(std::string_view bytes) {
  const auto fail = [](const std::string& what) {
    throw Error(Error::Kind::kUser, fmt::format("not a jitdump that can be read: {}", what));
  };
  if (bytes.size() > kMaxJitDumpBytes) {
    fail(fmt::format("{} bytes, more than {}", bytes.size(), kMaxJitDumpBytes));
  }
  if (bytes.size() < kHeaderBytes) {
    fail(fmt::format("{} bytes, less than its header", bytes.size()));
  }
  const auto magic = number_at<std::uint32_t>(bytes, 0);
  if (magic != kMagic) {
    fail(magic == kSwappedMagic ? "the byte order of another machine" : "another format");
  }
  const auto version = number_at<std::uint32_t>(bytes, 4);
  if (version != kVersion) {
    fail(fmt::format("version {}, not {}", version, kVersion));
  }
  const auto size = number_at<std::uint32_t>(bytes, 8);
  if (size < kHeaderBytes || size > bytes.size()) {
    fail(fmt::format("a header of {} bytes", size));
  }
}

/// Adds the code of a record at a place of the dump.
void add_load(std::string_view record, std::size_t place, CodeMap<DumpedFunction>& code) {
  const auto address = number_at<std::uint64_t>(record, kRecordBytes + 16);
  const auto size = number_at<std::uint64_t>(record, kRecordBytes + 24);
  const std::string_view text = record.substr(kRecordBytes + kLoadBytes);
  const std::string_view name = text.substr(0, text.find('\0'));
  if (size > 0 && size <= kMaxJitDumpBytes && address <= UINT64_MAX - size) {
    code.add({{address, address + size, std::string(name.substr(0, kMaxCodeName))},
              place + kRecordBytes + kLoadBytes + name.size() + 1});
  }
}

void add_move(std::string_view record, CodeMap<DumpedFunction>& code) {
  const auto from = number_at<std::uint64_t>(record, kRecordBytes + 16);
  const auto to = number_at<std::uint64_t>(record, kRecordBytes + 24);
  const auto size = number_at<std::uint64_t>(record, kRecordBytes + 32);
  if (size > 0 && size <= kMaxJitDumpBytes && to <= UINT64_MAX - size) {
    code.move(from, to, size);
  }
}

}  // namespace

JitDump read_jit_dump(std::string_view bytes) {
  check_header(bytes);
  JitDump dump;
  CodeMap<DumpedFunction> code;
  std::string_view rest = bytes.substr(number_at<std::uint32_t>(bytes, 8));
  while (!rest.empty()) {
    if (rest.size() < kRecordBytes) {
      dump.cut_off = true;
      break;
    }
    const auto id = number_at<std::uint32_t>(rest, 0);
    const auto size = number_at<std::uint32_t>(rest, 4);
    if (size < kRecordBytes || size > rest.size()) {
      dump.cut_off = true;
      break;
    }
    const std::string_view record = rest.substr(0, size);
    if (id == kLoad && size >= kRecordBytes + kLoadBytes) {
      add_load(record, static_cast<std::size_t>(record.data() - bytes.data()), code);
    } else if (id == kMove && size >= kRecordBytes + kMoveBytes) {
      add_move(record, code);
    }
    rest.remove_prefix(size);
  }
  dump.functions = std::move(code).take();
  return dump;
}

}  // namespace plumb::importers
