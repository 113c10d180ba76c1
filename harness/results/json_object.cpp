// SPDX-License-Identifier: Apache-2.0
#include "harness/results/json_object.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMaximumText = std::size_t{64} << 20U;
constexpr int kMaximumDepth = 32;

[[noreturn]] void refuse(const char* name, std::string_view wanted) {
  throw Error(Error::Kind::kUser, fmt::format("field '{}' is not {}", name, wanted));
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  if (text.size() > kMaximumText) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("{} bytes of JSON are too many: the limit is {}", text.size(), kMaximumText));
  }
  const auto limit_depth = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kMaximumDepth) {
      throw Error(Error::Kind::kUser,
                  fmt::format("JSON nests deeper than {} levels", kMaximumDepth));
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text.begin(), text.end(), limit_depth);
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
  if (!value.is_array() || value.size() > at_most) {
    refuse(name, fmt::format("an array of at most {} elements", at_most));
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

}  // namespace plumb
