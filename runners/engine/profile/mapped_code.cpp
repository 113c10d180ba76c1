// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/mapped_code.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace plumb::engine {
namespace {

std::size_t padded(std::size_t size) {
  return (size + 3) & ~std::size_t{3};
}

/// Returns the build-id among the notes of a loaded object, or nothing.
std::string read_build_id(const dl_phdr_info& object, const ElfW(Phdr) & header) {
  const auto* at = reinterpret_cast<const char*>(object.dlpi_addr + header.p_vaddr);
  const char* const end = at + header.p_memsz;
  while (static_cast<std::size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* const name = at + sizeof note;
    const char* const content = name + padded(note.n_namesz);
    if (content + note.n_descsz > end) {
      break;
    }
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        std::memcmp(name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      std::string digits;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        digits += fmt::format("{:02x}", static_cast<unsigned char>(content[i]));
      }
      return digits;
    }
    at = content + padded(note.n_descsz);
  }
  return {};
}

/// Build-ids of loaded objects, by the addresses where their code begins.
using BuildIds = std::map<std::uint64_t, std::string>;

int add_object(dl_phdr_info* object, std::size_t /*size*/, void* build_ids) {
  std::string build_id;
  for (int i = 0; i < object->dlpi_phnum && build_id.empty(); ++i) {
    if (object->dlpi_phdr[i].p_type == PT_NOTE) {
      build_id = read_build_id(*object, object->dlpi_phdr[i]);
    }
  }
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
      (*static_cast<BuildIds*>(build_ids))[object->dlpi_addr + header.p_vaddr] = build_id;
    }
  }
  return 0;
}

}  // namespace

std::vector<results::CodeMapping> read_mapped_code() {
  BuildIds build_ids;
  ::dl_iterate_phdr(add_object, &build_ids);
  std::vector<results::CodeMapping> mappings;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    results::CodeMapping mapping;
    char dash = 0;
    std::string rights;
    std::string device;
    std::string node;
    fields >> std::hex >> mapping.begin >> dash >> mapping.end >> rights >> mapping.offset >>
        device >> node;
    if (!fields || rights.size() < 3 || rights[2] != 'x') {
      continue;
    }
    std::getline(fields >> std::ws, mapping.path);
    // The code of an object may begin after the page that its mapping begins with.
    const auto object = build_ids.lower_bound(mapping.begin);
    if (object != build_ids.end() && object->first < mapping.end) {
      mapping.build_id = object->second;
    }
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

}  // namespace plumb::engine
