// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace plumb {

/// Names and values, in order of name.
using Facts = std::map<std::string, std::string>;

/// Environment of a run. `identity` is short, documented (docs/reference/store.md) and hashed. Two
/// runs belong to one environment exactly when it is equal. `facts` is everything else: shown in
/// diffs, never hashed.
struct Environment {
  Facts identity;  ///< cpu.model, cpu.count, memory, virtualisation, stack (hash), driver, threads,
                   ///< cache modes, method
  Facts facts;     ///< kernel, microcode, governor, load, library versions, paths and hashes,
                   ///< compiler, our commit…

  /// Returns the first 16 hex digits of the SHA-256 of "name=value\n" lines of the identity.
  [[nodiscard]] std::string id() const;
};

}  // namespace plumb
