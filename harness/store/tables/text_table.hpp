// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/store/tables/connection.hpp"

namespace plumb::store {

/// Table of short ids for long texts: layer_keys, variants or attribute_sets, and the ids of runs.
/// An id never gets another text.
class TextTable {
 public:
  struct Entry {
    std::int64_t id = 0;
    std::int64_t checksum = 0;  ///< ContentHash of the text
  };
  struct Text {
    std::string text;
    std::int64_t checksum = 0;  ///< ContentHash of the text
  };

  TextTable(StatementCache& statements,
            const std::string& table,
            const std::string& id_column = "id",
            const std::string& text_column = "text");

  /// Returns the entry of `text`, and makes it if it is new. Only within a write transaction.
  const Entry& entry_of(const std::string& text);
  /// Reads the texts of some ids, with few statements. Not while rows are streamed.
  void load(std::vector<std::int64_t> ids);
  /// Returns the text of an id that was loaded. Nothing: the table lacks it.
  [[nodiscard]] const Text* text_of(std::int64_t id) const;
  /// Clears the cache, after a transaction that was rolled back.
  void forget() {
    last_ = nullptr;
    entries_.clear();
    texts_.clear();
  }

 private:
  StatementCache& statements_;
  std::string find_sql_;
  std::string insert_sql_;
  std::string load_sql_;  ///< up to its first id
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<std::int64_t, Text> texts_;               ///< by id
  const std::pair<const std::string, Entry>* last_ = nullptr;  ///< rows of one key come together
};

}  // namespace plumb::store
