// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/imported_date.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reader of a text from its beginning.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  /// Takes `least` to `most` digits. Absent: there are fewer.
  std::optional<int> number(std::size_t least, std::size_t most) {
    std::size_t count = 0;
    while (count < most && count < rest_.size() && is_digit(rest_[count])) {
      ++count;
    }
    int value = 0;
    if (count < least) {
      return std::nullopt;
    }
    std::from_chars(rest_.data(), rest_.data() + count, value);
    rest_.remove_prefix(count);
    return value;
  }

  /// Takes one of the characters. '\0': none of them is next.
  char one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) {
      return '\0';
    }
    const char taken = rest_.front();
    rest_.remove_prefix(1);
    return taken;
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// Reads a count of seconds, or with 12 digits and more of milliseconds, since 1970.
std::optional<ImportedDate> since_1970(std::string_view text) {
  constexpr std::size_t kLongest = 14;
  constexpr std::size_t kMilliseconds = 12;
  std::int64_t count = 0;
  if (text.size() < 9 || text.size() > kLongest ||
      !std::all_of(text.begin(), text.end(), is_digit)) {
    return std::nullopt;
  }
  std::from_chars(text.data(), text.data() + text.size(), count);
  const std::int64_t unit = text.size() >= kMilliseconds ? 1'000 : 1'000'000;
  return ImportedDate{Timestamp(std::chrono::microseconds(count * unit)), true};
}

/// Reads the offset from UTC at the end of a date, in minutes. Zero: UTC, or there is no zone.
std::optional<int> offset_in(Cursor& text, bool& has_zone) {
  static_cast<void>(text.one_of(" "));
  has_zone = !text.rest().empty();
  if (!has_zone || text.rest() == "Z" || text.rest() == "UTC") {
    return 0;
  }
  const char sign = text.one_of("+-");
  const auto hours = text.number(2, 2);
  static_cast<void>(text.one_of(":"));
  const auto minutes = text.number(2, 2);
  if (sign == '\0' || !hours || !minutes || *hours > 23 || *minutes > 59 || !text.rest().empty()) {
    return std::nullopt;
  }
  return (sign == '-' ? -1 : 1) * (*hours * 60 + *minutes);
}

}  // namespace

std::optional<ImportedDate> parse_imported_date(std::string_view text) {
  if (auto count = since_1970(text)) {
    return count;
  }
  Cursor cursor(text);
  const auto year = cursor.number(4, 4);
  const char between = cursor.one_of("-/.");
  const auto month = cursor.number(1, 2);
  const bool same = between != '\0' && cursor.one_of(std::string_view(&between, 1)) != '\0';
  const auto day = cursor.number(1, 2);
  const bool timed = cursor.one_of("T -") != '\0';
  const auto hour = cursor.number(1, 2);
  const bool colon = cursor.one_of(":") != '\0';
  const auto minute = cursor.number(2, 2);
  if (!year || !month || !same || !day || !timed || !hour || !colon || !minute) {
    return std::nullopt;
  }
  std::string seconds = "00";
  if (cursor.one_of(":") != '\0') {
    const auto whole = cursor.number(2, 2);
    if (!whole) {
      return std::nullopt;
    }
    seconds = fmt::format("{:02}", *whole);
    if (cursor.one_of(".") != '\0') {
      const std::size_t before = cursor.rest().size();
      const auto fraction = cursor.number(1, 6);
      if (!fraction) {
        return std::nullopt;
      }
      seconds += fmt::format(".{:0{}}", *fraction, before - cursor.rest().size());
      while (!cursor.rest().empty() && is_digit(cursor.rest().front())) {
        static_cast<void>(cursor.number(1, 1));
      }
    }
  }
  ImportedDate date;
  const auto offset = offset_in(cursor, date.has_zone);
  if (!offset) {
    return std::nullopt;
  }
  try {
    date.time =
        parse_timestamp(fmt::format(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{}Z", *year, *month, *day, *hour, *minute, seconds)) -
        std::chrono::minutes(*offset);
  } catch (const Error&) {
    return std::nullopt;
  }
  return date;
}

}  // namespace plumb::importers
