// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "harness/base/error.hpp"

namespace plumb::store {

/// How an SQLite store is restored.
inline constexpr std::string_view kRestoreFile =
    "move the store and the files beside it that end in -wal and -shm away, then copy a backup to "
    "its place or import an export";
/// How a store on a PostgreSQL server is restored.
inline constexpr std::string_view kRestoreDatabase =
    "make a new database, then restore a dump with pg_restore or import an export into it";

inline constexpr std::string_view kDamageAdvice =
    "plumb store verify lists what is damaged; to restore, ";

/// Returns the advice that ends every message about a damaged store. `restore` says how.
[[nodiscard]] inline std::string damage_advice(std::string_view restore) {
  return std::string(kDamageAdvice).append(restore);
}

/// Content of a store that cannot be what was stored. Its text has no advice: whoever knows the
/// kind of the store adds it.
class StoreDamage : public Error {
 public:
  explicit StoreDamage(const std::string& what)
      : Error(Error::Kind::kEnvironment, what + ": the store is damaged") {}
};

/// Returns the error for content that cannot be what was stored. `what` says which.
[[nodiscard]] inline StoreDamage damaged_store(const std::string& what) {
  return StoreDamage(what);
}

/// Runs `work`. If it meets damage, the error says how this kind of store is restored.
template <typename Work>
auto with_advice(std::string_view restore, Work&& work) {
  try {
    return work();
  } catch (const StoreDamage& damage) {
    throw Error(damage.kind(), std::string(damage.what()).append("; ") + damage_advice(restore));
  }
}

/// Returns the text of an error without the advice, for a list of faults.
[[nodiscard]] inline std::string without_advice(std::string_view text) {
  const std::size_t at = text.find(kDamageAdvice);
  return std::string(text.substr(0, at == std::string_view::npos ? at : at - 2));
}

}  // namespace plumb::store
