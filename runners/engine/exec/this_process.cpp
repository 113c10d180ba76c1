// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/this_process.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
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

}  // namespace

std::filesystem::path mapped_file(const void* address) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::istringstream fields(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string permissions;
    std::string offset;
    std::string device;
    std::string inode;
    std::string path;
    fields >> std::hex >> begin >> dash >> end >> permissions >> offset >> device >> inode;
    std::getline(fields >> std::ws, path);
    if (number_of(address) >= begin && number_of(address) < end) {
      return path;
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

}  // namespace plumb::engine
