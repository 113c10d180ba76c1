// SPDX-License-Identifier: Apache-2.0
#include "harness/base/timestamp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

struct Fields {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int microsecond = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads YYYY-MM-DDThh:mm:ss[.digits]Z, and nothing before or after it.
std::optional<Fields> read_fields(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00";
  const bool has_fraction = text.size() > kShape.size() + 2 && text[kShape.size()] == '.';
  if (text.size() <= kShape.size() || text.back() != 'Z' ||
      (text.size() != kShape.size() + 1 && !has_fraction)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == '0' ? !is_digit(text[i]) : text[i] != kShape[i]) {
      return std::nullopt;
    }
  }
  const auto number = [&](std::size_t from, std::size_t count) {
    int value = 0;
    for (const char c : text.substr(from, count)) {
      value = value * 10 + (c - '0');
    }
    return value;
  };
  Fields fields{number(0, 4),
                static_cast<unsigned>(number(5, 2)),
                static_cast<unsigned>(number(8, 2)),
                number(11, 2),
                number(14, 2),
                number(17, 2),
                0};
  if (has_fraction) {
    const std::string_view fraction =
        text.substr(kShape.size() + 1, text.size() - kShape.size() - 2);
    if (!std::all_of(fraction.begin(), fraction.end(), is_digit)) {
      return std::nullopt;
    }
    int weight = 100'000;
    for (const char c : fraction.substr(0, 6)) {
      fields.microsecond += weight * (c - '0');
      weight /= 10;
    }
    // Further digits round: 999999.5 becomes the next second.
    fields.microsecond += fraction.size() > 6 && fraction[6] >= '5' ? 1 : 0;
  }
  return fields;
}

}  // namespace

Timestamp current_time() {
  return std::chrono::time_point_cast<Timestamp::duration>(std::chrono::system_clock::now());
}

Seconds steady_time() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::string to_text(Timestamp time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()),
                     clock.hours().count(),
                     clock.minutes().count(),
                     clock.seconds().count(),
                     clock.subseconds().count());
}

Timestamp parse_timestamp(std::string_view text) {
  using namespace std::chrono;
  const std::optional<Fields> fields = read_fields(text);
  const year_month_day date =
      fields ? year_month_day{year{fields->year}, month{fields->month}, day{fields->day}}
             : year_month_day{};
  const bool in_range =
      fields && date.ok() && fields->hour < 24 && fields->minute < 60 && fields->second < 61;
  if (!in_range) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' is not a time: write RFC 3339 in UTC, such as 2026-01-31T23:59:59Z",
                    text));
  }
  return Timestamp(sys_days(date).time_since_epoch() + hours(fields->hour) +
                   minutes(fields->minute) + seconds(fields->second) +
                   microseconds(fields->microsecond));
}

Timestamp WorkClock::now() const {
  return begin_ + std::chrono::duration_cast<Timestamp::duration>(std::chrono::steady_clock::now() -
                                                                  steady_begin_);
}

std::optional<std::chrono::duration<double>> elapsed(Timestamp begin, Timestamp end) {
  return end < begin ? std::nullopt : std::optional<std::chrono::duration<double>>(end - begin);
}

}  // namespace plumb
