// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/profile/named_profile.hpp"

struct dl_phdr_info;

namespace plumb::engine {

/// Lists the parts of a process's memory that hold code, in the order of the lines of its
/// /proc/PID/maps. They have no build-ids yet. Lines of another form are left out.
[[nodiscard]] std::vector<results::SampledProfile::Mapping> parse_mapped_code(std::istream& maps);

/// Returns the file that the code at `address` is mapped from, by /proc/self/maps. Empty if there
/// is none.
[[nodiscard]] std::filesystem::path mapped_file(const void* address);

/// Returns the ELF build-id of the module at `address`, as hex digits. Empty if it has none.
[[nodiscard]] std::string build_id(const void* address);

/// Returns the first ELF build-id in the notes of a loaded module, likewise.
[[nodiscard]] std::string read_build_id(const dl_phdr_info& info);

/// Program or shared library that is loaded into this process.
struct LoadedModule {
  std::filesystem::path path;  ///< links resolved; empty: the program itself
  std::string build_id;        ///< ELF build-id as hex digits; empty: it has none
};

/// Lists the modules of this process in the order of loading.
[[nodiscard]] std::vector<LoadedModule> loaded_modules();

/// Reads how much memory processes can still take without swapping. Returns nothing if the system
/// does not report it.
[[nodiscard]] std::optional<Bytes> available_memory();

/// Reads how much of this process lies in memory, without pages of files such as libraries. What
/// was freed is given back to the system first. Returns nothing if the system does not report it.
[[nodiscard]] std::optional<Bytes> resident_memory();

/// Limits this process's data memory, so that allocations beyond `most` fail with std::bad_alloc.
///
/// So a layer that does not fit costs one row, instead of a process that the system kills. Does
/// nothing in sanitizer builds, which reserve more address space than any memory.
void limit_memory(Bytes most);

/// Reads the limit of this process's data memory. Returns nothing if there is none.
[[nodiscard]] std::optional<Bytes> memory_limit();

/// Keeps the calling thread, and those that it starts from now on, on one of the processors that it
/// may use: the one with number `place` among them, counted round from 0. Returns false if the
/// system refuses; the thread then stays where it was.
bool stay_on_processor(std::uint32_t place);

/// Makes the calling thread, and those that it starts from now on, take operands below the smallest
/// normal number for 0, and round results below it to 0. Does nothing on processors other than
/// x86-64. docs/adr/0028-the-worker-flushes-denormals.md says why.
void flush_denormals();

}  // namespace plumb::engine
