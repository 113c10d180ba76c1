// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/importers/symbols/code_map.hpp"

namespace plumb::importers {

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

}  // namespace plumb::importers
