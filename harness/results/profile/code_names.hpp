// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plumb::results {

/// Image of code that a library made at run time.
inline constexpr const char* kGeneratedImage = "generated";

/// Image of an address at which there was no code.
inline constexpr const char* kUnmappedImage = "unmapped";

/// Function, as a profile names it.
struct ProfiledFunction {
  std::string name;   ///< empty: its image has no symbol there
  std::string image;  ///< name of its file, kGeneratedImage, or what the kernel calls the mapping
  std::string build_id = {};  ///< of its file, as hexadecimal digits; empty: it has none

  auto operator<=>(const ProfiledFunction&) const = default;
};

/// Functions of sampled addresses, and of those before which their calls return.
struct CodeNames {
  std::vector<ProfiledFunction> functions;
  std::vector<std::pair<std::uint64_t, std::uint32_t>>
      addresses;                      ///< each with its function, sorted
  std::vector<std::string> problems;  ///< files without symbols, and why

  /// Returns the number of an address's function. The address is one of the list.
  [[nodiscard]] std::uint32_t function_at(std::uint64_t address) const {
    return std::lower_bound(addresses.begin(), addresses.end(), std::pair(address, 0U))->second;
  }
};

}  // namespace plumb::results
