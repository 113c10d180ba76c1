// SPDX-License-Identifier: Apache-2.0
#include "harness/store/postgresql/row_stream.hpp"

#include <utility>

#include "harness/base/error.hpp"
#include "harness/store/postgresql/copy_format.hpp"
#include "harness/store/postgresql/query_text.hpp"

namespace plumb::store {
namespace {

/// Returns and removes the first bytes of a row.
std::string_view take(std::string_view& row, std::size_t size) {
  PLUMB_CHECK(size <= row.size());
  const std::string_view bytes = row.substr(0, size);
  row.remove_prefix(size);
  return bytes;
}

}  // namespace

bool RowStream::step() {
  const bool first = !std::exchange(open_, true);
  if (first) {
    connection().start_rows(
        with_parameters(sql_, [texts = literals()](std::size_t i) { return texts.at(i); }));
  }
  row_ = connection().next_row();
  std::string_view rest(row_.bytes.get(), row_.size);
  if (first) {
    (void)take(rest, kCopyHeader.size());
  }
  if (take(rest, kCopyEnd.size()) == kCopyEnd) {  // else the number of columns
    reset();
    return false;
  }
  for (std::string_view& column : start_row()) {
    const std::string_view length = take(rest, kLengthBytes);
    column =
        length == kNullLength ? std::string_view() : take(rest, read_bytes<std::uint32_t>(length));
  }
  return true;
}

void RowStream::reset() noexcept {
  if (std::exchange(open_, false)) {
    connection().end_rows();
  }
  PostgresqlStatement::reset();
  row_ = {};
}

}  // namespace plumb::store
