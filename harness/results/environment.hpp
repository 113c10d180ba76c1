// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace plumb::results {

/// Facts by name, in order of name.
using Facts = std::map<std::string, std::string>;

/// Environment of a run. Two runs belong to one environment exactly if `identity` is equal. It is
/// short, documented (docs/reference/store.md) and hashed. `facts` has everything else, which is
/// shown in diffs and never hashed.
struct Environment {
  Facts identity;  ///< cpu.model, cpu.count, memory, virtualisation, stack (hash), driver, threads,
                   ///< method
  Facts facts;     ///< kernel, microcode, governor, load, library versions, paths and hashes,
                   ///< compiler, our commit…

  /// Returns the first 16 hex digits of the SHA-256 of the identity, written as "name=value\n"
  /// lines.
  [[nodiscard]] std::string id() const;
};

}  // namespace plumb::results
