// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string_view>

#include "harness/worker/protocol/backend.hpp"

namespace plumb::contract {

/// Names one backend that must keep the contract.
struct BackendEntry {
  std::string_view name;
  /// Makes the backend. Throws Error{kEnvironment} where its library or device is missing.
  std::unique_ptr<worker::Backend> (*make)();
  /// Returns whether the library documents that a variant of 8-bit products loses digits. Such a
  /// variant may be wrong for operands over their whole range, never for small even ones.
  bool (*may_saturate)(const worker::Variant& variant);
};

inline void PrintTo(const BackendEntry& entry, std::ostream* out) {
  *out << entry.name;
}

/// Lists the backends that are built. A new backend is one row.
[[nodiscard]] std::span<const BackendEntry> backends();

}  // namespace plumb::contract
