// SPDX-License-Identifier: Apache-2.0
#include "harness/results/json_fields.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::results {
namespace {

[[noreturn]] void refuse_element(const char* name, std::string_view wanted) {
  throw Error(Error::Kind::kUser, fmt::format("field '{}' holds what is not {}", name, wanted));
}

}  // namespace

std::chrono::nanoseconds nanoseconds_of(double seconds, const char* name) {
  constexpr double kLongest = 1e9;  // seconds; far below what nanoseconds can count
  if (!(seconds >= -kLongest && seconds <= kLongest)) {
    throw Error(Error::Kind::kUser, fmt::format("field '{}' is {} s: too long", name, seconds));
  }
  return std::chrono::round<std::chrono::nanoseconds>(Seconds(seconds));
}

std::uint64_t whole_number(const nlohmann::json& element,
                           const char* name,
                           const FieldLimits& limits) {
  const auto low = static_cast<std::uint64_t>(limits.low);
  const auto high = static_cast<std::uint64_t>(limits.high);
  if (!element.is_number_unsigned() || element.get<std::uint64_t>() < low ||
      element.get<std::uint64_t>() > high) {
    refuse_element(name, fmt::format("an integer from {} to {}", low, high));
  }
  return element.get<std::uint64_t>();
}

double finite_number(const nlohmann::json& element, const char* name) {
  if (!element.is_number() || !std::isfinite(element.get<double>())) {
    refuse_element(name, "a finite number");
  }
  return element.get<double>();
}

std::pair<double, double> number_pair(const nlohmann::json& value, const char* name) {
  if (!value.is_array() || value.size() != 2) {
    throw Error(Error::Kind::kUser, fmt::format("field '{}' is not a pair of numbers", name));
  }
  return {finite_number(value[0], name), finite_number(value[1], name)};
}

void refuse_word(const char* name, std::string_view word) {
  throw Error(Error::Kind::kUser,
              fmt::format("field '{}' has the unknown value '{}'", name, word.substr(0, 64)));
}

void refuse_field(const char* name, std::string_view what) {
  throw Error(Error::Kind::kUser, fmt::format("field '{}' is {}", name, what));
}

nlohmann::json wide_value(std::uint64_t number) {
  return std::to_string(number);
}

std::uint64_t wide_from(const nlohmann::json& value, const char* name) {
  const std::string text = value.is_string() ? value.get<std::string>() : std::string();
  const std::optional<std::uint64_t> number = parse_number<std::uint64_t>(text);
  if (!number) {
    refuse_field(name, "not the text of a number of 64 bits");
  }
  return *number;
}

double limited(double number, const char* name, const FieldLimits& limits) {
  if (!(number >= limits.least && number <= limits.most)) {
    refuse_field(name, fmt::format("{}, not between {} and {}", number, limits.least, limits.most));
  }
  return number;
}

const std::string& limited(const std::string& text, const char* name, const FieldLimits& limits) {
  if (text.size() < limits.shortest || text.size() > limits.longest) {
    refuse_field(
        name,
        fmt::format(
            "a text of {} bytes, not of {} to {}", text.size(), limits.shortest, limits.longest));
  }
  return text;
}

}  // namespace plumb::results
