// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/importers/symbols/code_finder.hpp"

namespace plumb::importers {
namespace {

/// Code in memory, where later code takes the place of earlier. `Code` is a NamedCode, or has one
/// as its base.
template <typename Code>
class CodeMap {
 public:
  void add(Code code) {
    remove(code.begin, code.end);
    const std::uint64_t begin = code.begin;
    by_begin_.emplace(begin, std::move(code));
  }

  /// Moves the function that begins at an address.
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t size) {
    const auto found = by_begin_.find(from);
    if (found == by_begin_.end()) {
      return;
    }
    Code code = std::move(found->second);
    code.begin = to;
    code.end = to + size;
    by_begin_.erase(found);
    add(std::move(code));
  }

  /// Returns all functions, by address. None overlaps another.
  [[nodiscard]] std::vector<Code> take() && {
    std::vector<Code> functions;
    for (auto& [begin, code] : by_begin_) {
      functions.push_back(std::move(code));
    }
    return functions;
  }

 private:
  void remove(std::uint64_t begin, std::uint64_t end) {
    auto first = by_begin_.upper_bound(begin);
    if (first != by_begin_.begin() && std::prev(first)->second.end > begin) {
      --first;
    }
    auto last = first;
    while (last != by_begin_.end() && last->first < end) {
      ++last;
    }
    by_begin_.erase(first, last);
  }

  std::map<std::uint64_t, Code> by_begin_;
};

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using OwnedElf = std::unique_ptr<Elf, ElfEnd>;

constexpr std::size_t kMaxBuildIdBytes = 64;

[[noreturn]] void fail(const std::string& what) {
  throw Error(Error::Kind::kUser, what);
}

}  // namespace

/// Reader of one file, which fills in its functions.
class ElfSymbols::Reader {
 public:
  Reader(Elf* elf, ElfSymbols& symbols) : elf_(elf), symbols_(symbols) {}

  void read() {
    GElf_Ehdr header{};
    if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF || gelf_getehdr(elf_, &header) == nullptr ||
        gelf_getclass(elf_) != ELFCLASS64) {
      fail("it is not an ELF file of 64 bits");
    }
    read_segments();
    read_sections();
    symbols_.sort_functions();
  }

 private:
  void read_segments() {
    std::size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) {
      fail(elf_errmsg(-1));
    }
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header{};
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) {
        fail(elf_errmsg(-1));
      }
      if (header.p_type == PT_LOAD) {
        symbols_.segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
      }
    }
  }

  void read_sections() {
    for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr;
         section = elf_nextscn(elf_, section)) {
      GElf_Shdr header{};
      if (gelf_getshdr(section, &header) == nullptr) {
        fail(elf_errmsg(-1));
      }
      if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) {
        symbols_.complete_ = symbols_.complete_ || header.sh_type == SHT_SYMTAB;
        read_symbols(section, header);
      } else if (header.sh_type == SHT_NOTE && symbols_.build_id_.empty()) {
        read_notes(section);
      }
    }
  }

  void read_symbols(Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* const data = elf_getdata(section, nullptr);
    if (data == nullptr) {
      return;  // a file of debug information has empty tables
    }
    GElf_Sym symbol{};
    for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      const int type = GELF_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
          symbol.st_value > UINT64_MAX - symbol.st_size) {
        continue;
      }
      const char* const name = elf_strptr(elf_, header.sh_link, symbol.st_name);
      if (name == nullptr || *name == '\0') {
        continue;
      }
      if (symbols_.functions_.size() == kMaxElfFunctions) {
        fail(fmt::format("it has more than {} symbols", kMaxElfFunctions));
      }
      symbols_.functions_.push_back({symbol.st_value,
                                     symbol.st_value + symbol.st_size,
                                     std::string(name, ::strnlen(name, kMaxCodeName))});
    }
  }

  void read_notes(Elf_Scn* section) {
    Elf_Data* const data = elf_getdata(section, nullptr);
    if (data == nullptr) {
      return;
    }
    GElf_Nhdr note{};
    std::size_t name = 0;
    std::size_t content = 0;
    for (std::size_t at = 0;
         at < data->d_size && (at = gelf_getnote(data, at, &note, &name, &content)) > 0;) {
      const auto* const bytes = static_cast<const char*>(data->d_buf);
      if (note.n_type != NT_GNU_BUILD_ID || note.n_descsz > kMaxBuildIdBytes ||
          note.n_namesz != sizeof ELF_NOTE_GNU ||
          std::memcmp(bytes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0) {
        continue;
      }
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        symbols_.build_id_ += fmt::format("{:02x}", static_cast<unsigned char>(bytes[content + i]));
      }
      return;
    }
  }

  Elf* elf_;
  ElfSymbols& symbols_;
};

ElfSymbols::ElfSymbols(const std::filesystem::path& file) {
  elf_version(EV_CURRENT);
  const FileDescriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const OwnedElf elf(elf_begin(descriptor.number(), ELF_C_READ_MMAP, nullptr));
  try {
    Reader(elf.get(), *this).read();
  } catch (const Error& error) {
    fail(fmt::format("cannot read the symbols of '{}': {}", file.string(), error.what()));
  }
}

ElfSymbols::ElfSymbols(std::span<char> bytes) {
  elf_version(EV_CURRENT);
  const OwnedElf elf(elf_memory(bytes.data(), bytes.size()));
  Reader(elf.get(), *this).read();
}

void ElfSymbols::sort_functions() {
  // Of names for one address, a longer function comes last, and of equal ones the first name.
  std::sort(functions_.begin(), functions_.end(), [](const auto& left, const auto& right) {
    return std::tuple(left.begin, left.end, std::string_view(right.name)) <
           std::tuple(right.begin, right.end, std::string_view(left.name));
  });
  // A function without a size, in assembly, reaches to the next function.
  for (std::size_t i = 0; i + 1 < functions_.size(); ++i) {
    if (functions_[i].end == functions_[i].begin) {
      functions_[i].end = functions_[i + 1].begin;
    }
  }
}

void ElfSymbols::take_functions(ElfSymbols debug) {
  functions_ = std::move(debug.functions_);
  complete_ = debug.complete_;
}

std::optional<std::uint64_t> ElfSymbols::loaded_address(std::uint64_t offset) const {
  for (const Segment& segment : segments_) {
    if (offset >= segment.offset && offset - segment.offset < segment.size) {
      return segment.address + (offset - segment.offset);
    }
  }
  return std::nullopt;
}

const NamedCode* ElfSymbols::find(std::uint64_t address) const {
  auto after = std::upper_bound(
      functions_.begin(), functions_.end(), address, [](std::uint64_t value, const auto& each) {
        return value < each.begin;
      });
  if (after == functions_.begin()) {
    return nullptr;
  }
  const NamedCode& before = *std::prev(after);
  return address < before.end ? &before : nullptr;
}

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
void add_load(std::string_view record,
              std::size_t place,
              CodeMap<CodeFinder::JitDump::Function>& code) {
  const auto address = number_at<std::uint64_t>(record, kRecordBytes + 16);
  const auto size = number_at<std::uint64_t>(record, kRecordBytes + 24);
  const std::string_view text = record.substr(kRecordBytes + kLoadBytes);
  const std::string_view name = text.substr(0, text.find('\0'));
  if (size > 0 && size <= kMaxJitDumpBytes && address <= UINT64_MAX - size) {
    code.add({{address, address + size, std::string(name.substr(0, kMaxCodeName))},
              place + kRecordBytes + kLoadBytes + name.size() + 1});
  }
}

void add_move(std::string_view record, CodeMap<CodeFinder::JitDump::Function>& code) {
  const auto from = number_at<std::uint64_t>(record, kRecordBytes + 16);
  const auto to = number_at<std::uint64_t>(record, kRecordBytes + 24);
  const auto size = number_at<std::uint64_t>(record, kRecordBytes + 32);
  if (size > 0 && size <= kMaxJitDumpBytes && to <= UINT64_MAX - size) {
    code.move(from, to, size);
  }
}

}  // namespace

CodeFinder::JitDump read_jit_dump(std::string_view bytes) {
  check_header(bytes);
  CodeFinder::JitDump dump;
  CodeMap<CodeFinder::JitDump::Function> code;
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

namespace {

/// Removes a number and the space behind it from a line. Absent: it begins with none.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  if (line.starts_with("0x")) {
    line.remove_prefix(2);
  }
  std::uint64_t number = 0;
  const char* const end = line.data() + line.size();
  const auto [after, fault] = std::from_chars(line.data(), end, number, 16);
  if (fault != std::errc() || after == end || *after != ' ') {
    return std::nullopt;
  }
  line.remove_prefix(static_cast<std::size_t>(after - line.data()) + 1);
  return number;
}

std::optional<NamedCode> read_line(std::string_view line) {
  const auto begin = take_number(line);
  const auto size = begin ? take_number(line) : std::nullopt;
  if (!size || line.empty() || *size == 0 || *begin > UINT64_MAX - *size) {
    return std::nullopt;
  }
  return NamedCode{*begin, *begin + *size, std::string(line.substr(0, kMaxCodeName))};
}

}  // namespace

std::vector<NamedCode> read_perf_map(std::string_view text) {
  if (text.size() > kMaxPerfMapBytes) {
    throw Error(Error::Kind::kUser,
                fmt::format("a perf map of {} bytes, more than {}", text.size(), kMaxPerfMapBytes));
  }
  CodeMap<NamedCode> code;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;) {
    if (auto function = read_line(text.substr(0, end))) {
      code.add(*std::move(function));
    }
    text.remove_prefix(end + 1);
  }
  std::vector<NamedCode> functions = std::move(code).take();
  if (functions.empty()) {
    throw Error(Error::Kind::kUser, "not a perf map: no line has an address, a size and a name");
  }
  return functions;
}

}  // namespace plumb::importers
