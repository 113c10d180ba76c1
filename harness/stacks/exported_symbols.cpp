// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/exported_symbols.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "harness/base/error.hpp"

namespace plumb::stacks {
namespace {

/// An ELF file that is read in parts. A part beyond the end of the file means that the file is
/// damaged.
class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& path)
      : path_(path), file_(path, std::ios::binary), size_(std::filesystem::file_size(path)) {
    read(&header_, 0, sizeof header_);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_shentsize != sizeof(Elf64_Shdr)) {
      fail("it is not a 64-bit ELF library");
    }
  }

  [[nodiscard]] std::vector<Elf64_Shdr> sections() {
    return array<Elf64_Shdr>(header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr));
  }

  template <class Item>
  [[nodiscard]] std::vector<Item> array(std::uint64_t offset, std::uint64_t bytes) {
    if (bytes > size_) {
      fail("a part of it is larger than the file");
    }
    std::vector<Item> result(bytes / sizeof(Item));
    read(result.data(), offset, result.size() * sizeof(Item));
    return result;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(Error::Kind::kUser,
                fmt::format("cannot read the symbols of '{}': {}", path_.string(), why));
  }

 private:
  void read(void* target, std::uint64_t offset, std::uint64_t bytes) {
    if (offset > size_ || bytes > size_ - offset) {
      fail("it ends too early");
    }
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(static_cast<char*>(target), static_cast<std::streamsize>(bytes));
    if (!file_) {
      fail("it cannot be read");
    }
  }

  const std::filesystem::path& path_;
  std::ifstream file_;
  std::uint64_t size_;
  Elf64_Ehdr header_{};
};

bool is_exported(const Elf64_Sym& symbol) {
  const int binding = ELF64_ST_BIND(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK);
}

}  // namespace

std::vector<std::string> exported_symbols(const std::filesystem::path& library) {
  ElfFile file(library);
  const std::vector<Elf64_Shdr> sections = file.sections();
  std::vector<std::string> result;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM) {
      continue;
    }
    if (section.sh_link >= sections.size()) {
      file.fail("its symbols have no names");
    }
    const Elf64_Shdr& names_section = sections[section.sh_link];
    std::vector<char> names = file.array<char>(names_section.sh_offset, names_section.sh_size);
    names.push_back('\0');
    for (const Elf64_Sym& symbol : file.array<Elf64_Sym>(section.sh_offset, section.sh_size)) {
      if (symbol.st_name >= names.size()) {
        file.fail("a symbol's name lies outside its table");
      }
      if (is_exported(symbol)) {
        result.emplace_back(names.data() + symbol.st_name);
      }
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace plumb::stacks
