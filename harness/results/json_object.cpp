// SPDX-License-Identifier: Apache-2.0
#include "harness/results/json_object.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

constexpr std::size_t kMaximumText = std::size_t{64} << 20U;
constexpr std::size_t kMaximumDepth = 32;
constexpr std::size_t kMaximumValues = 10'000'000;

[[noreturn]] void refuse(const char* name, std::string_view wanted) {
  throw Error(Error::Kind::kUser, fmt::format("field '{}' is not {}", name, wanted));
}

/// Checks depth and number of values in one pass, before anything is built of them. A callback of
/// the parser could do it too, but then each element of an array costs a walk through the array.
void check_shape(std::string_view text) {
  std::size_t depth = 0;
  std::size_t separators = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      i += c == '\\' ? 1U : 0U;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaximumDepth) {
        throw Error(Error::Kind::kUser,
                    fmt::format("JSON nests deeper than {} levels", kMaximumDepth));
      }
      ++separators;
    } else if (c == '}' || c == ']') {
      depth -= depth > 0 ? 1U : 0U;
    } else if (c == ',') {
      ++separators;
    }
  }
  if (separators > kMaximumValues) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("JSON has about {} values: at most {} are read", separators, kMaximumValues));
  }
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  if (text.size() > kMaximumText) {
    throw Error(Error::Kind::kUser,
                fmt::format("JSON has {} bytes: at most {} are read", text.size(), kMaximumText));
  }
  check_shape(text);
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& error) {
    throw Error(Error::Kind::kUser, fmt::format("not JSON: {}", error.what()));
  }
}

JsonObject::JsonObject(const nlohmann::json& value) : value_(value) {
  if (!value.is_object()) {
    throw Error(Error::Kind::kUser,
                fmt::format("a JSON {} stands where an object is expected", value.type_name()));
  }
}

const nlohmann::json& JsonObject::field(const char* name) const {
  const auto found = value_.find(name);
  if (found == value_.end()) {
    throw Error(Error::Kind::kUser, fmt::format("field '{}' is missing", name));
  }
  return *found;
}

bool JsonObject::has(const char* name) const {
  const auto found = value_.find(name);
  return found != value_.end() && !found->is_null();
}

const std::string& JsonObject::text(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_string()) {
    refuse(name, "a text");
  }
  return value.get_ref<const std::string&>();
}

std::string JsonObject::text_or_empty(const char* name) const {
  return has(name) ? text(name) : std::string{};
}

bool JsonObject::boolean(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_boolean()) {
    refuse(name, "true or false");
  }
  return value.get<bool>();
}

std::int64_t JsonObject::integer(const char* name, std::int64_t low, std::int64_t high) const {
  const nlohmann::json& value = field(name);
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kHighest)
                        : value.is_number_integer();
  if (!fits || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) {
    refuse(name, fmt::format("an integer from {} to {}", low, high));
  }
  return value.get<std::int64_t>();
}

double JsonObject::number(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    refuse(name, "a finite number");
  }
  return value.get<double>();
}

std::optional<double> JsonObject::optional_number(const char* name) const {
  return has(name) ? std::optional<double>(number(name)) : std::nullopt;
}

std::optional<Seconds> JsonObject::optional_seconds(const char* name) const {
  return has(name) ? std::optional<Seconds>(number(name)) : std::nullopt;
}

Timestamp JsonObject::time(const char* name) const {
  return parse_timestamp(text(name));
}

JsonObject JsonObject::object(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_object()) {
    refuse(name, "an object");
  }
  return JsonObject(value);
}

const nlohmann::json& JsonObject::array(const char* name, std::size_t at_most) const {
  const nlohmann::json& value = field(name);
  if (!value.is_array()) {
    refuse(name, fmt::format("an array of at most {} elements", at_most));
  }
  if (value.size() > at_most) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "field '{}' has {} elements: at most {} are read", name, value.size(), at_most));
  }
  return value;
}

std::vector<std::string> JsonObject::texts(const char* name, std::size_t at_most) const {
  std::vector<std::string> result;
  for (const nlohmann::json& element : array(name, at_most)) {
    if (!element.is_string()) {
      refuse(name, "an array of texts");
    }
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::map<std::string, std::int64_t> JsonObject::integers(const char* name,
                                                         std::int64_t low,
                                                         std::int64_t high,
                                                         std::size_t at_most) const {
  const JsonObject values = object(name);
  if (values.value_.size() > at_most) {
    refuse(name, fmt::format("an object of at most {} integers", at_most));
  }
  std::map<std::string, std::int64_t> result;
  for (const auto& [key, ignored] : values.value_.items()) {
    result.emplace(key, values.integer(key.c_str(), low, high));
  }
  return result;
}

Facts JsonObject::facts(const char* name) const {
  Facts result;
  for (const auto& [key, value] : object(name).value_.items()) {
    if (!value.is_string()) {
      refuse(name, "an object of texts");
    }
    result.emplace(key, value.get<std::string>());
  }
  return result;
}

}  // namespace plumb::results
