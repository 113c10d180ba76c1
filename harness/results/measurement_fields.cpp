// SPDX-License-Identifier: Apache-2.0
#include "harness/results/measurement_fields.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

using nlohmann::json;

void check_names(const char* field, const json& value) {
  if (!value.is_object() || value.size() > kMaxAttributes) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("field '{}' is not an object of at most {} elements", field, kMaxAttributes));
  }
  for (const auto& [name, ignored] : value.items()) {
    if (!is_attribute_name(name)) {
      throw Error(Error::Kind::kUser, fmt::format("field '{}' has an invalid name", field));
    }
  }
}

}  // namespace

json error_value(const std::optional<double>& error) {
  return error && !std::isfinite(*error) ? json("inf") : json_of(error);
}

std::optional<double> error_from(const json& value, const char* name) {
  if (value == "inf") {
    return std::numeric_limits<double>::infinity();
  }
  return value.is_null() ? std::nullopt : std::optional(finite_number(value, name));
}

Attributes attributes_from(const json& value) {
  check_names("attributes", value);
  Attributes attributes;
  for (const auto& [name, text] : value.items()) {
    if (!text.is_string() || text.get_ref<const std::string&>().size() > kMaxAttributeText) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "the attribute '{}' is not a text of at most {} bytes", name, kMaxAttributeText));
    }
    attributes.emplace(name, text.get<std::string>());
  }
  return attributes;
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Reading>& value) {
  constexpr FieldLimits kAny{.least = -1e30, .most = 1e30};
  fields("median", value.median, kAny);
  fields("low", value.low, kAny);
  fields("high", value.high, kAny);
  fields("n", value.n, {.low = 1});
}

json readings_value(const Readings& readings) {
  json value = json::object();
  for (const auto& [name, reading] : readings) {
    value[name] = json_of(reading);
  }
  return value;
}

Readings readings_from(const json& value) {
  check_names("readings", value);
  Readings readings;
  for (const auto& [name, reading] : value.items()) {
    readings[name] = value_from<Reading>(JsonObject(reading));
  }
  return readings;
}

}  // namespace plumb::results
