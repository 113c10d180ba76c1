// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "harness/store/tables/statement_cache.hpp"

namespace plumb::store {

/// Table of short ids for long texts: layer_keys, variants or attribute_sets. Texts are never
/// removed.
class TextTable {
 public:
  struct Entry {
    std::int64_t id = 0;
    std::int64_t checksum = 0;  ///< ContentHash of the text
  };

  TextTable(StatementCache& statements, const std::string& table);

  /// Returns the entry of `text`, and makes it if it is new. Only within a write transaction.
  const Entry& entry_of(const std::string& text);
  /// Clears the cache, after a transaction that was rolled back.
  void forget() {
    last_ = nullptr;
    entries_.clear();
  }

 private:
  StatementCache& statements_;
  std::string find_sql_;
  std::string insert_sql_;
  std::unordered_map<std::string, Entry> entries_;
  const std::pair<const std::string, Entry>* last_ = nullptr;  ///< rows of one key come together
};

}  // namespace plumb::store
