// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/disturbance.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::measure {
namespace {

/// Reads the first 4 KiB. The first line has what is needed, and the rest may be long.
std::string read_head(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return {};
  }
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(file, buffer.data(), buffer.size());
  ::close(file);
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
}

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0.0) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string_view> words_of_first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
      break;
    }
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  return words;
}

/// Reads the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal guest
/// guest_nice (proc_stat(5)). `guest` is part of `user`, so that the sum ends with `steal`.
void read_cpu_ticks(const std::string& stat, Disturbance::Reading& reading) {
  constexpr std::size_t kSteal = 8;
  const auto words = words_of_first_line(stat);
  if (words.size() <= kSteal || words.front() != "cpu") {
    return;
  }
  double total = 0.0;
  for (std::size_t i = 1; i <= kSteal; ++i) {
    const auto ticks = number(words[i]);
    if (!ticks) {
      return;
    }
    total += *ticks;
  }
  reading.total_ticks = total;
  reading.steal_ticks = number(words[kSteal]);
}

/// Returns the total of "some avg10=0.00 avg60=0.00 avg300=0.00 total=354700131", in microseconds.
std::optional<double> pressure_total(const std::string& pressure) {
  constexpr std::string_view kName = "total=";
  const auto words = words_of_first_line(pressure);
  if (words.empty() || words.front() != "some") {
    return std::nullopt;
  }
  for (const std::string_view word : words) {
    if (word.substr(0, kName.size()) == kName) {
      return number(word.substr(kName.size()));
    }
  }
  return std::nullopt;
}

std::optional<double> difference(std::optional<double> begin, std::optional<double> end) {
  if (!begin || !end || *end < *begin) {
    return std::nullopt;  // a counter that runs backwards says nothing
  }
  return *end - *begin;
}

}  // namespace

Disturbance::Reading read_disturbance(const std::filesystem::path& proc) {
  Disturbance::Reading reading;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    reading.involuntary_switches = usage.ru_nivcsw;
  }
  read_cpu_ticks(read_head(proc / "stat"), reading);
  reading.pressure_microseconds = pressure_total(read_head(proc / "pressure/cpu"));
  const std::string load = read_head(proc / "loadavg");
  if (const auto words = words_of_first_line(load); !words.empty()) {
    reading.load = number(words.front());
  }
  reading.wall = Seconds(std::chrono::steady_clock::now().time_since_epoch());
  return reading;
}

Disturbance disturbance_between(const Disturbance::Reading& begin,
                                const Disturbance::Reading& end,
                                const Disturbance::Limits& limits) {
  Disturbance result;
  const Seconds wall = end.wall - begin.wall;
  result.involuntary_switches =
      std::max<std::int64_t>(0, end.involuntary_switches - begin.involuntary_switches);
  const double switches_allowed = static_cast<double>(limits.switches) +
                                  limits.switches_per_second * std::max(0.0, wall.count());
  result.disturbed = static_cast<double>(result.involuntary_switches) > switches_allowed;

  const auto stolen = difference(begin.steal_ticks, end.steal_ticks);
  const auto total = difference(begin.total_ticks, end.total_ticks);
  if (stolen && total && *total > 0.0) {
    result.steal_ratio = std::min(1.0, *stolen / *total);
    result.disturbed = result.disturbed ||
                       (*stolen >= limits.steal_ticks && *result.steal_ratio > limits.steal_ratio);
  }
  const auto waited = difference(begin.pressure_microseconds, end.pressure_microseconds);
  if (waited && wall > Seconds(0.0)) {
    result.pressure_ratio = std::min(1.0, *waited * 1e-6 / wall.count());
    result.disturbed = result.disturbed || (wall >= limits.pressure_block &&
                                            *result.pressure_ratio > limits.pressure_ratio);
  }
  if (end.load) {
    result.load = std::max(0.0, *end.load - 1.0);
  }
  return result;
}

}  // namespace plumb::measure
