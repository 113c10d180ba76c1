// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/importers/symbols/code_map.hpp"
#include "harness/results/profile/code_listing.hpp"
#include "harness/results/profile/sampled_profile.hpp"

namespace plumb::importers {

/// Function at an address of a process, and where its code is.
struct FoundCode {
  results::ProfiledFunction function;  ///< without a name: it has no symbol there
  std::uint64_t begin = 0;             ///< in the process's memory; only with a name
  std::uint64_t end = 0;               ///< after the last byte
  std::filesystem::path file;          ///< that holds the code; empty: none does
  std::uint64_t offset = 0;            ///< of the code in the file
  std::string problem;                 ///< why it has no name, or no file; empty: it has both
};

/// Finder of the functions of one process.
///
/// Code that was made at run time is named by jitdumps, else by a perf map. Other code is named by
/// the symbols of its mapping's file, or of the file with debug information that has its build-id.
class CodeFinder {
 public:
  /// Reads the dumps, of which those named `.map` are perf maps. Keeps a reference to the mappings,
  /// which are in the order of their addresses. `debug_files` has files with debug information by
  /// build-id.
  CodeFinder(const std::vector<results::CodeMapping>& mappings,
             const std::vector<std::filesystem::path>& dumps,
             std::filesystem::path debug_files = "/usr/lib/debug/.build-id");

  /// Finds an address. Reads the symbols of its file first, unless that is done.
  [[nodiscard]] FoundCode find(std::uint64_t address);
  /// Returns the files that could not be read, or have another build-id now.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  /// Returns whether there is any dump or perf map.
  [[nodiscard]] bool has_dumps() const { return !dumps_.empty(); }

 private:
  struct DumpedCode {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string name;
    std::size_t dump = 0;  ///< number of its file
    std::uint64_t offset = 0;
  };

  void read_dump(std::size_t number);
  /// Symbols of a file, and why there are none or not all.
  struct FileSymbols {
    std::optional<ElfSymbols> symbols;
    std::string problem;
  };

  /// Returns the symbols of a mapping's file. They are read once.
  const FileSymbols& symbols_of(const results::CodeMapping& mapping);
  [[nodiscard]] FileSymbols read_symbols(const results::CodeMapping& mapping) const;
  /// Takes the functions of a file's debug information, if it is installed.
  void add_debug_file(ElfSymbols& symbols) const;

  const std::vector<results::CodeMapping>& mappings_;
  std::vector<std::filesystem::path> dumps_;
  std::filesystem::path debug_files_;
  std::vector<DumpedCode> generated_;         // by address
  std::vector<NamedCode> mapped_;             // of a perf map, by address
  std::map<std::string, FileSymbols> files_;  // each read once
  std::vector<std::string> problems_;
};

/// Names the function of each sampled address, and of each call (the byte before its return).
///
/// Code that was made at run time is named by `dumps`, as CodeFinder takes them. Other code is
/// named by the symbols of its mapping's file, or of the file with debug information that has its
/// build-id. An address without a symbol gets a function without a name in its mapping's image. A
/// file that cannot be read, or has another build-id now, is a problem of the result.
[[nodiscard]] results::CodeNames read_code_names(const results::SampledProfile& profile,
                                                 const std::vector<std::filesystem::path>& dumps);
/// Names them by a finder of the profile's process.
[[nodiscard]] results::CodeNames read_code_names(const results::SampledProfile& profile,
                                                 CodeFinder& finder);

}  // namespace plumb::importers
