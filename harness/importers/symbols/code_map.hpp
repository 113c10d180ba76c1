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

namespace plumb::importers {

/// Part of memory that holds one function.
struct NamedCode {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< after the last byte
  std::string name;
};

inline constexpr std::size_t kMaxCodeName = 4096;  ///< longer names are cut

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

/// Function whose code a dump holds.
struct DumpedFunction : NamedCode {
  std::uint64_t offset = 0;  ///< of its first byte in the dump
};

/// Functions that a program made while it ran, by address. None overlaps another.
struct JitDump {
  std::vector<DumpedFunction> functions;
  bool cut_off = false;  ///< the last record is not complete
};

inline constexpr std::size_t kMaxJitDumpBytes = std::size_t{1} << 30U;

/// Reads a file in the format jitdump of Linux's perf
/// (tools/perf/Documentation/jitdump-specification.txt), version 1, of this machine's byte order.
/// Of functions at the same addresses, the last one counts. Throws Error{kUser} for other bytes.
[[nodiscard]] JitDump read_jit_dump(std::string_view bytes);

inline constexpr std::size_t kMaxPerfMapBytes = std::size_t{1} << 28U;

/// Reads a file in the format of `/tmp/perf-PID.map` (tools/perf/Documentation/jit-interface.txt of
/// Linux): "BEGIN SIZE NAME" on each line, in hexadecimal. Returns the functions by address.
///
/// Of functions at the same addresses, the last one counts. Lines of another form are left out, and
/// a last one without its end. Throws Error{kUser} for a text without any function.
[[nodiscard]] std::vector<NamedCode> read_perf_map(std::string_view text);

}  // namespace plumb::importers
