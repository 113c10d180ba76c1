// SPDX-License-Identifier: Apache-2.0

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/base/error.hpp"
#include "harness/importers/symbols/code_finder.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/importers/symbols/jit_dump_builder.hpp"

namespace plumb::importers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Function that the tests look for in their own executable.
[[gnu::noinline]] int named_function(int value) {
  asm volatile("" : "+r"(value));
  return value + 1;
}

std::uint64_t address_in_function() {
  return reinterpret_cast<std::uint64_t>(&named_function) + 1;
}

/// Returns the mapping of this executable's code.
results::SampledProfile::Mapping own_mapping() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    results::SampledProfile::Mapping mapping;
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) == 3 &&
        address_in_function() >= begin && address_in_function() < end) {
      mapping.begin = begin;
      mapping.end = end;
      mapping.offset = offset;
      mapping.path = std::filesystem::read_symlink("/proc/self/exe");
      return mapping;
    }
  }
  ADD_FAILURE() << "no mapping";
  return {};
}

results::SampledProfile profile_of(const std::vector<std::uint64_t>& addresses) {
  results::SampledProfile profile;
  for (const std::uint64_t address : addresses) {
    profile.samples.push_back({.address = address});
  }
  return profile;
}

results::NamedProfile::CodeNames::Function function_at(
    const results::NamedProfile::CodeNames& names, std::uint64_t address) {
  return names.functions.at(names.function_at(address));
}

TEST(CodeNames, a_function_is_named_by_the_symbols_of_its_file) {
  static_cast<void>(named_function(1));
  results::SampledProfile profile = profile_of({address_in_function()});
  profile.mappings = {own_mapping()};
  const results::NamedProfile::CodeNames names = read_code_names(profile, {});
  const results::NamedProfile::CodeNames::Function function =
      function_at(names, address_in_function());
  EXPECT_THAT(function.name, HasSubstr("named_function"));
  EXPECT_THAT(function.name, HasSubstr("plumb::importers"));
  EXPECT_EQ(function.image, std::filesystem::path(profile.mappings[0].path).filename());
  EXPECT_THAT(names.problems, IsEmpty());
}

/// Changes the entries of a table in the bytes of an ELF file.
template <typename Entry, typename Change>
void change_entries(std::uint64_t place,
                    std::size_t count,
                    const Change& change,
                    std::string& elf) {
  for (std::size_t i = 0; i < count; ++i) {
    Entry entry{};
    char* const at = elf.data() + place + i * sizeof entry;
    std::memcpy(&entry, at, sizeof entry);
    change(entry);
    std::memcpy(at, &entry, sizeof entry);
  }
}

/// Returns the bytes of an ELF file whose table of symbols has another type.
std::string with_symbols_as(Elf64_Word type, std::string elf) {
  Elf64_Ehdr header{};
  std::memcpy(&header, elf.data(), sizeof header);
  change_entries<Elf64_Shdr>(
      header.e_shoff,
      header.e_shnum,
      [type](Elf64_Shdr& each) { each.sh_type = each.sh_type == SHT_SYMTAB ? type : each.sh_type; },
      elf);
  return elf;
}

/// Returns the bytes of a mapping's file.
std::string read_bytes(const results::SampledProfile::Mapping& mapping) {
  std::ifstream file(mapping.path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CodeNames, debug_information_by_build_id_names_the_functions_of_a_stripped_file) {
  static_cast<void>(named_function(1));
  std::vector<results::SampledProfile::Mapping> mappings{own_mapping()};
  mappings[0].build_id = ElfSymbols(std::filesystem::path(mappings[0].path)).build_id();
  const std::string id = mappings[0].build_id;
  if (id.empty()) {
    GTEST_SKIP() << "the linker gave this program no build-id";
  }
  std::string debug = read_bytes(mappings[0]);
  const std::string stripped = with_symbols_as(SHT_NULL, debug);
  Elf64_Ehdr header{};
  std::memcpy(&header, debug.data(), sizeof header);
  // Such a file describes the parts of the other one, but does not hold them.
  change_entries<Elf64_Phdr>(
      header.e_phoff,
      header.e_phnum,
      [](Elf64_Phdr& each) { each.p_filesz = each.p_type == PT_LOAD ? 0 : each.p_filesz; },
      debug);
  const TemporaryFolder folder;
  mappings[0].path = (folder.path() / "stripped").string();
  std::ofstream(mappings[0].path, std::ios::binary) << stripped;
  const CodeFinder::Found unnamed =
      CodeFinder(mappings, {}, folder.path()).find(address_in_function());
  EXPECT_THAT(unnamed.function.name, testing::Not(HasSubstr("named_function")));
  std::filesystem::create_directory(folder.path() / id.substr(0, 2));
  std::ofstream(folder.path() / id.substr(0, 2) / (id.substr(2) + ".debug"), std::ios::binary)
      << debug;
  const CodeFinder::Found found =
      CodeFinder(mappings, {}, folder.path()).find(address_in_function());
  EXPECT_THAT(found.function.name, HasSubstr("named_function"));
  EXPECT_EQ(found.file, mappings[0].path) << "which holds the code";
}

TEST(CodeNames, a_broken_file_with_debug_information_costs_no_symbols_of_the_file_itself) {
  static_cast<void>(named_function(1));
  std::vector<results::SampledProfile::Mapping> mappings{own_mapping()};
  const std::string id = ElfSymbols(std::filesystem::path(mappings[0].path)).build_id();
  if (id.empty()) {
    GTEST_SKIP() << "the linker gave this program no build-id";
  }
  const std::string dynamic = with_symbols_as(SHT_DYNSYM, read_bytes(mappings[0]));
  const TemporaryFolder folder;
  mappings[0].path = (folder.path() / "dynamic").string();
  std::ofstream(mappings[0].path, std::ios::binary) << dynamic;
  std::filesystem::create_directory(folder.path() / id.substr(0, 2));
  std::ofstream(folder.path() / id.substr(0, 2) / (id.substr(2) + ".debug")) << "words";
  CodeFinder finder(mappings, {}, folder.path());
  const CodeFinder::Found found = finder.find(address_in_function());
  EXPECT_THAT(found.function.name, HasSubstr("named_function"));
  EXPECT_EQ(found.problem, "");
  EXPECT_THAT(finder.problems(), ElementsAre(HasSubstr(id.substr(2) + ".debug")));
}

TEST(CodeNames, a_file_that_changed_names_nothing) {
  results::SampledProfile profile = profile_of({address_in_function()});
  profile.mappings = {own_mapping()};
  profile.mappings[0].build_id = "0123";
  const results::NamedProfile::CodeNames names = read_code_names(profile, {});
  EXPECT_EQ(function_at(names, address_in_function()).name, "");
  EXPECT_THAT(names.problems, ElementsAre(HasSubstr("has changed")));
}

TEST(CodeNames, what_has_no_symbol_counts_under_its_mapping) {
  results::SampledProfile profile = profile_of({0x1500, 0x2500, 0x3500, 0x3600, 0x9000});
  profile.mappings = {{0x1000, 0x2000, 0, "/nowhere/libx.so.1", ""},
                      {0x2000, 0x3000, 0, "[vdso]", ""},
                      {0x3000, 0x4000, 0, "", ""}};
  const results::NamedProfile::CodeNames names = read_code_names(profile, {});
  EXPECT_EQ(function_at(names, 0x1500),
            (results::NamedProfile::CodeNames::Function{"", "libx.so.1"}));
  EXPECT_EQ(function_at(names, 0x2500), (results::NamedProfile::CodeNames::Function{"", "[vdso]"}));
  EXPECT_EQ(function_at(names, 0x3500),
            (results::NamedProfile::CodeNames::Function{"", "generated"}));
  EXPECT_EQ(names.function_at(0x3500), names.function_at(0x3600));
  EXPECT_EQ(function_at(names, 0x9000),
            (results::NamedProfile::CodeNames::Function{"", "unmapped"}));
  EXPECT_THAT(names.problems,
              ElementsAre(HasSubstr("/nowhere/libx.so.1"), HasSubstr("no names of the code")));
}

TEST(CodeNames, generated_code_is_named_by_its_dump) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "code.dump";
  std::ofstream(file, std::ios::binary)
      << JitDumpBuilder().load(0x3400, std::string(0x200, 'x'), "jit_kernel").bytes();
  std::ofstream(folder.path() / "broken.dump") << "words";
  results::SampledProfile profile = profile_of({0x3500, 0x3700});
  profile.mappings = {{0x3000, 0x4000, 0, "", ""}};
  const results::NamedProfile::CodeNames names =
      read_code_names(profile, {file, folder.path() / "broken.dump"});
  EXPECT_EQ(function_at(names, 0x3500),
            (results::NamedProfile::CodeNames::Function{"jit_kernel", "generated"}));
  EXPECT_EQ(function_at(names, 0x3700),
            (results::NamedProfile::CodeNames::Function{"", "generated"}));
  EXPECT_THAT(names.problems, ElementsAre(HasSubstr("broken.dump")));
}

TEST(CodeNames, a_perf_map_names_generated_code_that_no_dump_has) {
  const TemporaryFolder folder;
  const std::filesystem::path dump = folder.path() / "code.dump";
  std::ofstream(dump, std::ios::binary)
      << JitDumpBuilder().load(0x3400, std::string(0x100, 'x'), "dumped").bytes();
  const std::filesystem::path map = folder.path() / "perf.map";
  std::ofstream(map) << "1000 1000 stale\n3400 100 mapped\n3500 100 mapped\n9000 100 gone\n";
  results::SampledProfile profile = profile_of({0x1500, 0x3450, 0x3550, 0x3650, 0x9050});
  profile.mappings = {{0x1000, 0x2000, 0, "/nowhere/libx.so.1", ""}, {0x3000, 0x4000, 0, "", ""}};
  const results::NamedProfile::CodeNames names = read_code_names(profile, {dump, map});
  EXPECT_EQ(function_at(names, 0x1500).name, "") << "code of a file is not generated";
  EXPECT_EQ(function_at(names, 0x3450).name, "dumped");
  EXPECT_EQ(function_at(names, 0x3550),
            (results::NamedProfile::CodeNames::Function{"mapped", "generated"}));
  EXPECT_EQ(function_at(names, 0x3650),
            (results::NamedProfile::CodeNames::Function{"", "generated"}));
  EXPECT_EQ(function_at(names, 0x9050),
            (results::NamedProfile::CodeNames::Function{"gone", "generated"}));
}

TEST(CodeNames, calls_are_named_by_the_byte_before_they_return) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "code.dump";
  std::ofstream(file, std::ios::binary)
      << JitDumpBuilder().load(0x3400, std::string(0x200, 'x'), "jit_kernel").bytes();
  results::SampledProfile profile = profile_of({0x3500});
  profile.mappings = {{0x3000, 0x4000, 0, "", ""}};
  profile.chains = {{0x3600}};  // the call is the last instruction
  const results::NamedProfile::CodeNames names = read_code_names(profile, {file});
  EXPECT_EQ(function_at(names, 0x35ff).name, "jit_kernel");
}

TEST(ElfSymbols, knows_where_the_bytes_of_a_file_are_loaded) {
  const results::SampledProfile::Mapping mapping = own_mapping();
  const ElfSymbols symbols{std::filesystem::path(mapping.path)};
  EXPECT_TRUE(symbols.is_complete());
  EXPECT_GT(symbols.size(), 100U);
  const auto loaded =
      symbols.loaded_address(address_in_function() - mapping.begin + mapping.offset);
  ASSERT_TRUE(loaded);
  const NamedCode* const code = symbols.find(*loaded);
  ASSERT_NE(code, nullptr);
  EXPECT_THAT(code->name, HasSubstr("named_function"));
  EXPECT_FALSE(symbols.loaded_address(std::uint64_t{1} << 60U));
  EXPECT_EQ(symbols.find(std::uint64_t{1} << 60U), nullptr);
}

TEST(ElfSymbols, what_is_no_elf_file_is_an_error_with_its_name) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "words") << "words";
  for (const char* name : {"words", "absent"}) {
    try {
      const ElfSymbols symbols(folder.path() / name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
  }
}

}  // namespace
}  // namespace plumb::importers
