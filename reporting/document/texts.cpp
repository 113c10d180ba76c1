// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/base/encoding.hpp"
#include "harness/base/timestamp.hpp"

namespace plumb::reporting {
namespace {

bool drives_the_reader(std::uint32_t value) {
  return value < 0x20U || (value >= 0x7FU && value < 0xA0U) || value == 0x2028U ||
         value == 0x2029U || value == 0x061CU || value == 0x200EU || value == 0x200FU ||
         (value >= 0x202AU && value <= 0x202EU) || (value >= 0x2066U && value <= 0x2069U);
}

}  // namespace

std::string sanitize_utf8(const std::string& text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string result;
  result.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const std::optional<CodePoint> next = first_code_point(rest);
    const std::size_t bytes = next ? next->bytes : 1;
    if (!next || (next->value & 0xFFFEU) == 0xFFFEU) {
      result += kReplacement;
    } else if (drives_the_reader(next->value)) {
      result += '?';
    } else {
      result += rest.substr(0, bytes);
    }
    rest.remove_prefix(bytes);
  }
  return result;
}

namespace {

std::string csv_cell(const std::string& text) {
  const std::string clean = sanitize_utf8(text);
  if (clean.find_first_of(",\"\r\n") == std::string::npos) {
    return clean;
  }
  std::string quoted = "\"";
  for (const char c : clean) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    row += (i > 0 ? "," : "") + csv_cell(cells[i]);
  }
  return row + "\n";
}

std::string csv_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

namespace {

/// Adds a character as XML and Markdown both have it: no markup, and no end of the line.
void add_character(char c, std::string& safe) {
  switch (c) {
    case '<':
      safe += "&lt;";
      break;
    case '>':
      safe += "&gt;";
      break;
    case '&':
      safe += "&amp;";
      break;
    case '\t':
    case '\n':
    case '\r':
      safe += ' ';
      break;
    default:
      safe += c;
  }
}

}  // namespace

std::string escape_xml(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '"') {
      safe += "&quot;";
    } else if (c == '\'') {
      safe += "&apos;";
    } else {
      add_character(c, safe);
    }
  }
  return sanitize_utf8(safe);
}

std::string markdown_cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '`':
        safe += '\'';
        break;
      case '@':
        safe += "&#64;";
        break;
      case '|':
      case '$':
      case '~':
      case '*':
      case '_':
      case '[':
      case ']':
      case '\\':
        safe += '\\';
        safe += c;
        break;
      default:
        add_character(c, safe);
    }
  }
  return sanitize_utf8(safe);
}

std::string markdown_link(const std::string& text, const std::string& address) {
  const std::string shown = markdown_cell(text);
  return address.empty() ? shown : "[" + shown + "](" + address + ")";
}

std::string markdown_code(const std::string& text) {
  std::string safe = text;
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c == '`' || c == '|' || c == '\n'; }, ' ');
  return "``" + sanitize_utf8(safe) + "``";
}

std::string markdown_block(std::string lines) {
  std::replace(lines.begin(), lines.end(), '`', '\'');
  return "```text\n" + lines + "```\n";
}

namespace {

/// Returns four significant digits without an exponent, for values below 10,000.
std::string four_digits(double value) {
  const double size = std::fabs(value);
  const int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string time_text(Seconds time) {
  const double seconds = time.count();
  const double size = std::fabs(seconds);
  if (size >= 1.0) {
    return four_digits(seconds) + " s";
  }
  if (size >= 1e-3) {
    return four_digits(seconds * 1e3) + " ms";
  }
  if (size >= 1e-6) {
    return four_digits(seconds * 1e6) + " µs";
  }
  return four_digits(seconds * 1e9) + " ns";
}

std::string bytes_text(Bytes amount) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(amount.value);
  std::size_t unit = 0;
  while (std::fabs(value) >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", amount.value)
                   : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string count_text(double count) {
  constexpr std::array<const char*, 5> kUnits{"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (std::fabs(count) >= 1000.0 && unit + 1 < kUnits.size()) {
    count /= 1000.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", count) : four_digits(count) + kUnits[unit];
}

std::string duration_text(Seconds time) {
  const double seconds = time.count();
  if (seconds >= 2 * 86400.0) {
    return fmt::format("{:.0f} d", seconds / 86400.0);
  }
  if (seconds >= 2 * 3600.0) {
    return fmt::format("{:.0f} h", seconds / 3600.0);
  }
  if (seconds >= 120.0) {
    return fmt::format("{:.0f} min", seconds / 60.0);
  }
  return fmt::format("{:.0f} s", seconds);
}

std::string with_interval(Seconds time, const measure::Interval& interval) {
  if (time.count() <= 0) {
    return time_text(time);
  }
  const double half = (interval.high - interval.low).count() / 2.0 / time.count();
  return fmt::format("{} ± {}", time_text(time), share_text(half));
}

std::string with_interval(const measure::SampleSummary& time) {
  if (time.n == 0) {
    return "–";
  }
  return has_interval(time) ? with_interval(time.median, time.interval) : time_text(time.median);
}

std::string share_text(double share, int decimals) {
  return fmt::format("{:.{}f} %", 100.0 * share, decimals);
}

std::string signed_share_text(double share) {
  return fmt::format("{}{}", share < 0.0 ? "−" : "+", share_text(std::fabs(share)));
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.2f}×", ratio);
}

std::string change_text(Seconds change) {
  return fmt::format(
      "{}{}", change < Seconds(0.0) ? "−" : "+", time_text(std::chrono::abs(change)));
}

std::string counted(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string age_text(Timestamp begin, Timestamp end) {
  const auto time = elapsed(begin, end);
  return time ? duration_text(*time) : "? (clock set back)";
}

namespace {

constexpr std::size_t kMaxShown = 80;

std::string reading_text(const results::Reading& reading) {
  return reading.n < 2
             ? fmt::format("{:.4g}", reading.median)
             : fmt::format("{:.4g} ({:.4g} to {:.4g})", reading.median, reading.low, reading.high);
}

}  // namespace

std::string attribute_text(const results::Attributes& attributes,
                           const results::Readings& readings) {
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " · ", sanitize_utf8(name), value);
  };
  for (const auto& [name, value] : attributes) {
    add(name,
        value.size() <= kMaxShown ? sanitize_utf8(value) : fmt::format("({} bytes)", value.size()));
  }
  for (const auto& [name, reading] : readings) {
    add(name, reading_text(reading));
  }
  return text;
}

}  // namespace plumb::reporting
