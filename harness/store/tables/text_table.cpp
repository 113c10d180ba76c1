// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "harness/store/content_hash.hpp"

namespace plumb::store {
namespace {

// How many ids a statement takes. Few of them are left over, and few statements are prepared.
constexpr std::array<std::size_t, 3> kIdsAtOnce{1, 30, 1000};
constexpr std::size_t kMaxTexts = 100'000;  ///< that a long-lived reader keeps

}  // namespace

TextTable::TextTable(StatementCache& statements,
                     const std::string& table,
                     const std::string& id_column,
                     const std::string& text_column)
    : statements_(statements),
      find_sql_("select id from " + table + " where text = ?"),
      insert_sql_("insert into " + table + " (id, text) select coalesce(max(id), 0) + 1, ? from " +
                  table + " returning id"),
      load_sql_(
          fmt::format("select {0}, {1} from {2} where {0} in (?", id_column, text_column, table)) {}

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

void TextTable::load(std::vector<std::int64_t> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (texts_.size() + ids.size() > kMaxTexts) {
    texts_.clear();
  }
  std::erase_if(ids, [&](std::int64_t id) { return texts_.contains(id); });
  for (std::size_t begin = 0, count = 0; begin < ids.size(); begin += count) {
    count = *std::find_if(kIdsAtOnce.begin(), std::prev(kIdsAtOnce.end()), [&](std::size_t each) {
      return each >= ids.size() - begin;
    });
    std::string sql = load_sql_;
    for (std::size_t i = 1; i < count; ++i) {
      sql += ", ?";
    }
    const StatementUse statement = statements_.use(sql += ')');
    for (std::size_t i = begin; i < begin + count; ++i) {
      statement->bind(ids[std::min(i, ids.size() - 1)]);
    }
    while (statement->step()) {
      const std::int64_t id = statement->integer();
      Text& text = texts_[id];
      text.text = statement->text();
      text.checksum = ContentHash::of(text.text);
    }
  }
}

const TextTable::Text* TextTable::text_of(std::int64_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? nullptr : &found->second;
}

}  // namespace plumb::store
