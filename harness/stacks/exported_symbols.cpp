// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/exported_symbols.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/base/file_descriptor.hpp"

namespace plumb::stacks {
namespace {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using OwnedElf = std::unique_ptr<Elf, ElfEnd>;

bool is_exported(const GElf_Sym& symbol) {
  const int binding = GELF_ST_BIND(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK);
}

/// Returns a file's table of dynamic symbols. Throws Error{kUser} without one.
Elf_Scn* find_dynamic_symbols(Elf* elf, GElf_Shdr& header) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_DYNSYM) {
      return section;
    }
  }
  throw Error(Error::Kind::kUser, "it has no dynamic symbols");
}

std::vector<std::string> read_symbols(Elf* elf) {
  GElf_Shdr header{};
  Elf_Scn* const section = find_dynamic_symbols(elf, header);
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr) {
    throw Error(Error::Kind::kUser, elf_errmsg(-1));
  }
  std::vector<std::string> result;
  GElf_Sym symbol{};
  for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr) {
      throw Error(Error::Kind::kUser, "a symbol's name lies outside its table");
    }
    if (is_exported(symbol)) {
      result.emplace_back(name);
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> exported_symbols(const std::filesystem::path& library) {
  elf_version(EV_CURRENT);
  const FileDescriptor file(::open(library.c_str(), O_RDONLY | O_CLOEXEC));
  const OwnedElf elf(elf_begin(file.number(), ELF_C_READ, nullptr));
  std::vector<std::string> result;
  try {
    if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) {
      throw Error(Error::Kind::kUser, "it is not an ELF library");
    }
    result = read_symbols(elf.get());
  } catch (const Error& error) {
    throw Error(Error::Kind::kUser,
                fmt::format("cannot read the symbols of '{}': {}", library.string(), error.what()));
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace plumb::stacks
