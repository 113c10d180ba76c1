// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "harness/base/error.hpp"

namespace plumb::store {

/// Advice that ends every message about a damaged store.
inline constexpr std::string_view kDamageAdvice =
    "plumb store verify lists what is damaged; to restore, move the store and the files beside it "
    "that end in -wal and -shm away, then copy a backup to its place or import an export";

/// Returns the error for content that cannot be what was stored. `what` says which.
[[nodiscard]] inline Error damaged_store(const std::string& what) {
  return Error(Error::Kind::kEnvironment,
               what + ": the store is damaged; " + std::string(kDamageAdvice));
}

/// Returns the text of an error without the advice, for a list of faults.
[[nodiscard]] inline std::string without_advice(std::string_view text) {
  const std::size_t at = text.find(kDamageAdvice);
  return std::string(text.substr(0, at == std::string_view::npos ? at : at - 2));
}

}  // namespace plumb::store
