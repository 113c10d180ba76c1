// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/results/profile/named_profile.hpp"

namespace plumb::importers {

/// Part of memory that holds one function.
struct NamedCode {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< after the last byte
  std::string name;
};

inline constexpr std::size_t kMaxCodeName = 4096;  ///< longer names are cut

/// Functions of an ELF file, and where its parts are loaded.
class ElfSymbols {
 public:
  /// Reads a file. Throws Error{kUser}, with its name, if it is no ELF file of 64 bits or damaged.
  explicit ElfSymbols(const std::filesystem::path& file);
  /// Reads the bytes of a file, which may be changed by it.
  explicit ElfSymbols(std::span<char> bytes);

  /// Returns the build-id as hexadecimal digits. Empty: the file has none.
  [[nodiscard]] const std::string& build_id() const { return build_id_; }
  /// Returns whether there is a table of all symbols, and not only of exported ones.
  [[nodiscard]] bool is_complete() const { return complete_; }
  /// Returns the address at which the byte at a place of the file is loaded, before relocation.
  [[nodiscard]] std::optional<std::uint64_t> loaded_address(std::uint64_t offset) const;
  /// Finds the function at such an address. Null: there is none. The name is as in the file.
  [[nodiscard]] const NamedCode* find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return functions_.size(); }
  /// Takes the functions of the file with this one's debug information. What lies where in a file
  /// stays as it is here: the other one does not hold the code.
  void take_functions(ElfSymbols debug);

 private:
  struct Segment {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t address = 0;
  };
  class Reader;

  void sort_functions();

  std::string build_id_;
  bool complete_ = false;
  std::vector<Segment> segments_;
  std::vector<NamedCode> functions_;  // by address
};

/// Limit of the functions of one file.
inline constexpr std::size_t kMaxElfFunctions = 10'000'000;

inline constexpr std::size_t kMaxJitDumpBytes = std::size_t{1} << 30U;

inline constexpr std::size_t kMaxPerfMapBytes = std::size_t{1} << 28U;

/// Reads a file in the format of `/tmp/perf-PID.map` (tools/perf/Documentation/jit-interface.txt of
/// Linux): "BEGIN SIZE NAME" on each line, in hexadecimal. Returns the functions by address.
///
/// Of functions at the same addresses, the last one counts. Lines of another form are left out, and
/// a last one without its end. Throws Error{kUser} for a text without any function.
[[nodiscard]] std::vector<NamedCode> read_perf_map(std::string_view text);

/// Finder of the functions of one process.
///
/// Code that was made at run time is named by jitdumps, else by a perf map. Other code is named by
/// the symbols of its mapping's file, or of the file with debug information that has its build-id.
class CodeFinder {
 public:
  /// Functions that a program made while it ran, by address. None overlaps another.
  struct JitDump {
    /// Function whose code a dump holds.
    struct Function : NamedCode {
      std::uint64_t offset = 0;  ///< of its first byte in the dump
    };

    std::vector<Function> functions;
    bool cut_off = false;  ///< the last record is not complete
  };

  /// Function at an address of a process, and where its code is.
  struct Found {
    results::NamedProfile::CodeNames::Function
        function;                ///< without a name: it has no symbol there
    std::uint64_t begin = 0;     ///< in the process's memory; only with a name
    std::uint64_t end = 0;       ///< after the last byte
    std::filesystem::path file;  ///< that holds the code; empty: none does
    std::uint64_t offset = 0;    ///< of the code in the file
    std::string problem;         ///< why it has no name, or no file; empty: it has both
  };

  /// Reads the dumps, of which those named `.map` are perf maps. Keeps a reference to the mappings,
  /// which are in the order of their addresses. `debug_files` has files with debug information by
  /// build-id.
  CodeFinder(const std::vector<results::SampledProfile::Mapping>& mappings,
             const std::vector<std::filesystem::path>& dumps,
             std::filesystem::path debug_files = "/usr/lib/debug/.build-id");

  /// Finds an address. Reads the symbols of its file first, unless that is done.
  [[nodiscard]] Found find(std::uint64_t address);
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
  const FileSymbols& symbols_of(const results::SampledProfile::Mapping& mapping);
  [[nodiscard]] FileSymbols read_symbols(const results::SampledProfile::Mapping& mapping) const;
  /// Takes the functions of a file's debug information, if it is installed.
  void add_debug_file(ElfSymbols& symbols) const;

  const std::vector<results::SampledProfile::Mapping>& mappings_;
  std::vector<std::filesystem::path> dumps_;
  std::filesystem::path debug_files_;
  std::vector<DumpedCode> generated_;         // by address
  std::vector<NamedCode> mapped_;             // of a perf map, by address
  std::map<std::string, FileSymbols> files_;  // each read once
  std::vector<std::string> problems_;
};

/// Reads a file in the format jitdump of Linux's perf
/// (tools/perf/Documentation/jitdump-specification.txt), version 1, of this machine's byte order.
/// Of functions at the same addresses, the last one counts. Throws Error{kUser} for other bytes.
[[nodiscard]] CodeFinder::JitDump read_jit_dump(std::string_view bytes);

/// Names the function of each sampled address, and of each call (the byte before its return).
///
/// Code that was made at run time is named by `dumps`, as CodeFinder takes them. Other code is
/// named by the symbols of its mapping's file, or of the file with debug information that has its
/// build-id. An address without a symbol gets a function without a name in its mapping's image. A
/// file that cannot be read, or has another build-id now, is a problem of the result.
[[nodiscard]] results::NamedProfile::CodeNames read_code_names(
    const results::SampledProfile& profile, const std::vector<std::filesystem::path>& dumps);
/// Names them by a finder of the profile's process.
[[nodiscard]] results::NamedProfile::CodeNames read_code_names(
    const results::SampledProfile& profile, CodeFinder& finder);

/// Limit of the code that is listed, in bytes.
inline constexpr std::size_t kMaxListedBytes = 256 << 10U;

/// Lists the instructions of a function of a profile, with the samples of each.
///
/// Its code comes from `dumps` or from its mapping's file, as in read_code_names(). Library code of
/// one name may be made many times: the one with most samples is listed. Empty `function`: that of
/// the whole profile. Throws Error{kUser} if no sampled code has this name, and tells the hottest
/// functions, or if the code cannot be read.
[[nodiscard]] results::NamedProfile::Listing list_code(
    const results::SampledProfile& profile,
    const std::vector<std::filesystem::path>& dumps,
    const std::vector<std::string>& step_names,
    const std::string& function);

/// Lists the instructions of as many as kMaxListings functions, by a finder of the profile's
/// process: those whose hottest code has most samples. Where the code has no name or is no longer
/// there, the listing tells why in place of instructions.
[[nodiscard]] std::vector<results::NamedProfile::Listing> list_hottest_code(
    const results::SampledProfile& profile,
    CodeFinder& finder,
    const std::vector<std::string>& step_names);

}  // namespace plumb::importers
