// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/text_table.hpp"

#include "harness/store/content_hash.hpp"

namespace plumb::store {

TextTable::TextTable(StatementCache& statements, const std::string& table)
    : statements_(statements),
      find_sql_("select id from " + table + " where text = ?"),
      insert_sql_("insert into " + table + " (id, text) select coalesce(max(id), 0) + 1, ? from " +
                  table + " returning id") {}

const TextTable::Entry& TextTable::entry_of(const std::string& text) {
  if (last_ != nullptr && last_->first == text) {
    return last_->second;
  }
  const auto known = entries_.find(text);
  if (known != entries_.end()) {
    last_ = &*known;
    return known->second;
  }
  Entry entry{0, ContentHash().bytes(text).stored()};
  for (const std::string* const sql : {&find_sql_, &insert_sql_}) {
    const StatementUse statement = statements_.use(*sql);
    statement->bind(std::string_view(text));
    if (statement->step()) {
      entry.id = statement->integer();
      break;
    }
  }
  last_ = &*entries_.emplace(text, entry).first;
  return last_->second;
}

}  // namespace plumb::store
