// SPDX-License-Identifier: Apache-2.0
#include "harness/base/timestamp.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "harness/base/error.hpp"

namespace plumb {

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
  const std::string copy(text);
  int y = 0;
  unsigned m = 0;
  unsigned d = 0;
  int hour = 0;
  int minute = 0;
  double second = 0.0;
  char zone = 0;
  const int fields = std::sscanf(
      copy.c_str(), "%4d-%2u-%2uT%2d:%2d:%lf%c", &y, &m, &d, &hour, &minute, &second, &zone);
  const year_month_day date{year{y}, month{m}, day{d}};
  const bool in_range =
      hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 61;
  if (fields != 7 || zone != 'Z' || !date.ok() || !in_range) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'{}' is not a time: write RFC 3339 in UTC, such as 2026-01-31T23:59:59Z",
                    copy));
  }
  const auto fraction = microseconds(static_cast<std::int64_t>(second * 1e6 + 0.5));
  return Timestamp(sys_days(date).time_since_epoch() + hours(hour) + minutes(minute) + fraction);
}

}  // namespace plumb
