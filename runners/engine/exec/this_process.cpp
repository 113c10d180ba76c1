// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/this_process.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <malloc.h>
#ifdef __x86_64__
#include <pmmintrin.h>
#endif
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace plumb::engine {
namespace {

std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

std::size_t aligned(std::size_t size) {
  return (size + 3) / 4 * 4;
}

/// Returns the build-id in the notes of one mapped segment; empty if there is none.
std::string build_id_in(const char* notes, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof header);
    const std::size_t length = sizeof header + aligned(header.n_namesz) + aligned(header.n_descsz);
    if (length > size) {
      break;
    }
    const char* const name = notes + sizeof header;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(name, "GNU", 4) == 0) {
      std::string text;
      for (std::size_t index = 0; index < header.n_descsz; ++index) {
        text += fmt::format("{:02x}",
                            static_cast<unsigned char>(name[aligned(header.n_namesz) + index]));
      }
      return text;
    }
    notes += length;
    size -= length;
  }
  return {};
}

}  // namespace

std::string read_build_id(const dl_phdr_info& info) {
  std::string found;
  for (int index = 0; index < info.dlpi_phnum && found.empty(); ++index) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[index];
    if (segment.p_type == PT_NOTE) {
      found = build_id_in(std::bit_cast<const char*>(info.dlpi_addr + segment.p_vaddr),
                          segment.p_memsz);
    }
  }
  return found;
}

namespace {

bool holds(const dl_phdr_info& info, std::uintptr_t address) {
  for (int index = 0; index < info.dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[index];
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) {
      return true;
    }
  }
  return false;
}

struct BuildIdSearch {
  std::uintptr_t address = 0;
  std::string build_id;
};

int visit_for_build_id(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<BuildIdSearch*>(data);
  if (!holds(*info, search.address)) {
    return 0;
  }
  search.build_id = read_build_id(*info);
  return 1;
}

int visit_for_list(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& list = *static_cast<std::vector<LoadedModule>*>(data);
  const std::filesystem::path path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  list.push_back({error ? path : file, read_build_id(*info)});
  return 0;
}

/// Takes a hexadecimal number and the character behind it from the front of a line.
std::optional<std::uint64_t> take_number(std::string_view& line, char behind) {
  std::uint64_t number = 0;
  const char* const last = line.data() + line.size();
  const auto [end, error] = std::from_chars(line.data(), last, number, 16);
  if (error != std::errc() || end == last || *end != behind) {
    return std::nullopt;
  }
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return number;
}

/// Takes the characters before the next space, and that space, from the front of a line.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

/// Parses "BEGIN-END RIGHTS OFFSET DEVICE INODE PATH", where spaces may stand before the path.
/// Returns nothing for another line, and for memory that holds no code.
std::optional<results::SampledProfile::Mapping> parse_code(std::string_view line) {
  const auto begin = take_number(line, '-');
  const auto end = begin ? take_number(line, ' ') : std::nullopt;
  const std::string_view rights = take_word(line);
  const auto offset = end ? take_number(line, ' ') : std::nullopt;
  const std::string_view device = take_word(line);
  const std::string_view inode = take_word(line);
  if (!begin || !end || !offset || *begin >= *end || rights.size() < 3 || rights[2] != 'x' ||
      device.empty() || inode.empty()) {
    return std::nullopt;
  }
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
  return results::SampledProfile::Mapping{*begin, *end, *offset, std::string(line), ""};
}

}  // namespace

std::vector<results::SampledProfile::Mapping> parse_mapped_code(std::istream& maps) {
  std::vector<results::SampledProfile::Mapping> mappings;
  for (std::string line; std::getline(maps, line);) {
    if (auto mapping = parse_code(line)) {
      mappings.push_back(*std::move(mapping));
    }
  }
  return mappings;
}

std::filesystem::path mapped_file(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (const results::SampledProfile::Mapping& mapping : parse_mapped_code(maps)) {
    if (number_of(address) >= mapping.begin && number_of(address) < mapping.end) {
      return mapping.path;
    }
  }
  return {};
}

std::string build_id(const void* address) {
  BuildIdSearch search{number_of(address), {}};
  dl_iterate_phdr(visit_for_build_id, &search);
  return search.build_id;
}

std::vector<LoadedModule> loaded_modules() {
  std::vector<LoadedModule> modules;
  dl_iterate_phdr(visit_for_list, &modules);
  return modules;
}

std::optional<Bytes> available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kibibytes = 0;
  for (std::string rest; file >> name >> kibibytes; std::getline(file, rest)) {
    if (name == "MemAvailable:") {
      return Bytes{kibibytes * 1024};
    }
  }
  return std::nullopt;
}

std::optional<Bytes> resident_memory() {
  malloc_trim(0);  // what was freed is not held
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  std::int64_t of_files = 0;
  if (!(file >> size >> resident >> of_files)) {
    return std::nullopt;
  }
  return Bytes{(resident - of_files) * sysconf(_SC_PAGESIZE)};
}

void limit_memory(Bytes most) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static_cast<void>(most);
#else
  rlimit limit{};
  const auto bytes = static_cast<rlim_t>(most.value);
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && bytes < limit.rlim_cur) {
    limit.rlim_cur = bytes;
    static_cast<void>(setrlimit(RLIMIT_DATA, &limit));  // refused: as before
  }
#endif
}

std::optional<Bytes> memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return Bytes{static_cast<std::int64_t>(limit.rlim_cur)};
}

bool stay_on_processor(std::uint32_t place) {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) {
    return false;
  }
  std::vector<std::size_t> processors;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &usable)) {
      processors.push_back(i);
    }
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processors[place % processors.size()], &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

void flush_denormals() {
#ifdef __x86_64__
  _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
#endif
}

}  // namespace plumb::engine
