// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/results/json_object.hpp"

/// Fields of a value, described once for writing and for reading:
///
///   template <typename Fields>
///   void describe(Fields& fields, Described<Fields, ScenarioResult::Agreement>& value) {
///     fields("samples", value.samples);
///     fields("maximum_difference", value.maximum_difference);
///   }
///
/// `json_of(value)` writes it, and `value_from<ScenarioResult::Agreement>(object)` reads it.
/// Durations are seconds, moments RFC 3339, paths as path_text() has them, an absent value is null,
/// and a quantity is its number. For .cpp files only, as json_object.hpp.
namespace plumb::results {

/// Value that a description refers to: one that is read may be changed.
template <typename Fields, typename Value>
using Described = std::conditional_t<Fields::kReads, Value, const Value>;

/// Limits of a field that is read.
struct FieldLimits {
  std::int64_t low = 0;  ///< of an integer
  std::int64_t high = JsonObject::kHighest;
  double least = -std::numeric_limits<double>::infinity();  ///< of another number, or of seconds
  double most = std::numeric_limits<double>::infinity();
  std::size_t elements = 1'000'000;  ///< of an array, at most
  std::size_t shortest = 0;          ///< of a text, in bytes
  std::size_t longest = std::numeric_limits<std::size_t>::max();
};

/// Limits of a duration that was measured: up to 10^8 s, about three years.
inline constexpr FieldLimits kMeasuredTime{.least = 0.0, .most = 1e8};
/// Limits of a rate: of operations, bytes or samples a second.
inline constexpr FieldLimits kRate{.least = 0.0, .most = 1e30};

/// Rounds seconds of a field to nanoseconds. Throws Error{kUser} beyond 10^9 s.
[[nodiscard]] std::chrono::nanoseconds nanoseconds_of(double seconds, const char* name);
/// Reads an element of a field: an integer within limits that are not negative. Throws
/// Error{kUser}.
[[nodiscard]] std::uint64_t whole_number(const nlohmann::json& element,
                                         const char* name,
                                         const FieldLimits& limits);
/// Reads an element of a field: a finite number. Throws Error{kUser}.
[[nodiscard]] double finite_number(const nlohmann::json& element, const char* name);
/// Reads a pair of finite numbers. Throws Error{kUser}.
[[nodiscard]] std::pair<double, double> number_pair(const nlohmann::json& value, const char* name);
/// Throws Error{kUser}: a field has a word that nobody knows.
[[noreturn]] void refuse_word(const char* name, std::string_view word);
/// Throws Error{kUser}: "field '…' is …", with `what` at the end.
[[noreturn]] void refuse_field(const char* name, std::string_view what);
/// Writes a number of 64 bits, such as a seed or an address, as text.
[[nodiscard]] nlohmann::json wide_value(std::uint64_t number);
/// Reads what wide_value() wrote. Throws Error{kUser}.
[[nodiscard]] std::uint64_t wide_from(const nlohmann::json& value, const char* name);
/// Returns a number that is within limits. Throws Error{kUser}.
[[nodiscard]] double limited(double number, const char* name, const FieldLimits& limits);
/// Returns a text that is within limits. Throws Error{kUser}.
[[nodiscard]] const std::string& limited(const std::string& text,
                                         const char* name,
                                         const FieldLimits& limits);

namespace fields {

template <typename Value>
inline constexpr bool kOptional = false;
template <typename Value>
inline constexpr bool kOptional<std::optional<Value>> = true;
template <typename Value>
inline constexpr bool kArray = false;
template <typename Value>
inline constexpr bool kArray<std::vector<Value>> = true;
template <typename Value>
inline constexpr bool kDuration = false;
template <typename Number, typename Period>
inline constexpr bool kDuration<std::chrono::duration<Number, Period>> = true;
template <typename Value>
inline constexpr bool kQuantity = false;
template <typename Tag, typename Number>
inline constexpr bool kQuantity<Quantity<Tag, Number>> = true;

}  // namespace fields

template <typename Json = nlohmann::json, typename Value>
[[nodiscard]] Json json_of(const Value& value);

/// Writer of described fields into a JSON object, in their order if `Json` keeps one.
template <typename Json = nlohmann::json>
class FieldWriter {
 public:
  static constexpr bool kReads = false;

  /// Writes a field.
  template <typename Value>
  void operator()(const char* name, const Value& value, FieldLimits /*limits*/ = {}) {
    json_[name] = json_of<Json>(value);
  }
  /// Writes a word by its text.
  template <typename Word, typename Words>
  requires std::is_enum_v<Word>
  void operator()(const char* name, Word value, const Words& /*words*/) {
    json_[name] = to_text(value);
  }
  /// Writes a field that earlier versions lack.
  template <typename Value>
  void since(const char* name, const Value& value) {
    json_[name] = json_of<Json>(value);
  }
  template <typename Value>
  void since(const char* name, const Value& value, const Value& /*earlier*/) {
    json_[name] = json_of<Json>(value);
  }
  /// Writes a field, unless its value is empty or absent.
  template <typename Value>
  void unless_empty(const char* name, const Value& value) {
    if constexpr (fields::kOptional<Value>) {
      if (value) {
        json_[name] = json_of<Json>(*value);
      }
    } else if (!value.empty()) {
      json_[name] = json_of<Json>(value);
    }
  }
  /// Writes a field by a conversion of its own, unless its value is empty.
  template <typename Value, typename Write, typename Read>
  void unless_empty(const char* name, const Value& value, const Write& write, const Read&) {
    if (!value.empty()) {
      json_[name] = write(value);
    }
  }
  /// Writes what `written` returns. Reading ignores it.
  template <typename Written>
  void derived(const char* name, const Written& written) {
    json_[name] = json_of<Json>(written());
  }
  /// Writes a field by a conversion of its own.
  template <typename Value, typename Write, typename Read>
  void converted(const char* name, const Value& value, const Write& write, const Read& /*read*/) {
    json_[name] = write(value);
  }

  /// Writes a field by a conversion of its own that earlier versions lack.
  template <typename Value, typename Write, typename Read>
  void converted_since(
      const char* name, const Value& value, const Write& write, const Read&, const Value&) {
    json_[name] = write(value);
  }
  /// Writes a field, or null unless it is known.
  template <typename Value>
  void known_if(bool known, const char* name, const Value& value, FieldLimits /*limits*/ = {}) {
    json_[name] = known ? json_of<Json>(value) : Json();
  }
  /// Writes a text, or null if it is empty.
  void null_if_empty(const char* name, const std::string& text) {
    json_[name] = text.empty() ? Json() : Json(text);
  }
  /// Writes a pair of numbers, or null unless it is known.
  template <typename Number>
  void interval_if(bool known, const char* name, Number low, Number high) {
    json_[name] = known ? Json::array({json_of<Json>(low), json_of<Json>(high)}) : Json();
  }
  /// Writes an object whose fields `body` describes.
  template <typename Body>
  void nested(const char* name, const Body& body) {
    FieldWriter<Json> fields;
    body(fields);
    json_[name] = fields.take();
  }
  /// Writes an object whose fields `body` describes of a value, or null without a value.
  template <typename Value, typename Body>
  void nested(const char* name, const std::optional<Value>& value, const Body& body) {
    json_[name] = Json();
    if (value) {
      nested(name, [&](auto& fields) { body(fields, *value); });
    }
  }

  [[nodiscard]] Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

/// Reader of described fields from a JSON object. Every function throws Error{kUser} that names the
/// field at fault.
class FieldReader {
 public:
  static constexpr bool kReads = true;

  explicit FieldReader(const JsonObject& object) : object_(object) {}

  [[nodiscard]] bool has(const char* name) const { return object_.has(name); }
  /// Reads a field, which must be there unless it is optional.
  template <typename Value>
  void operator()(const char* name, Value& value, FieldLimits limits = {}) const {
    value = read<Value>(name, limits);
  }
  /// Reads one of a few words: an array of all of them, or a function that parses one.
  template <typename Word, typename Words>
  requires std::is_enum_v<Word>
  void operator()(const char* name, Word& value, const Words& words) const {
    const std::string& text = object_.text(name);
    std::optional<Word> found;
    if constexpr (std::is_invocable_v<Words, std::string_view>) {
      found = words(text);
    } else {
      const auto* const word = std::find_if(
          words.begin(), words.end(), [&](Word each) { return to_text(each) == text; });
      found = word == words.end() ? std::nullopt : std::optional(*word);
    }
    if (!found) {
      refuse_word(name, text);
    }
    value = *found;
  }
  /// Reads a field. It keeps its value where an earlier version wrote none.
  template <typename Value>
  void since(const char* name, Value& value) const {
    if (object_.has(name)) {
      value = read<Value>(name, {});
    }
  }
  /// Reads a field. Where an earlier version wrote none, it is `earlier`.
  template <typename Value>
  void since(const char* name, Value& value, const Value& earlier) const {
    value = object_.has(name) ? read<Value>(name, {}) : earlier;
  }
  /// Reads a field, which may be missing.
  template <typename Value>
  void unless_empty(const char* name, Value& value) const {
    since(name, value);
  }
  /// Reads a field by a conversion of its own, which takes the field's value. It may be missing.
  template <typename Value, typename Write, typename Read>
  void unless_empty(const char* name, Value& value, const Write&, const Read& read) const {
    if (object_.has(name)) {
      value = read(object_.field(name));
    }
  }
  template <typename Written>
  void derived(const char* /*name*/, const Written& /*written*/) const {}
  /// Reads a field by a conversion of its own, which takes the field's value and name.
  template <typename Value, typename Write, typename Read>
  void converted(const char* name, Value& value, const Write& /*write*/, const Read& read) const {
    value = read(object_.field(name), name);
  }
  /// Reads a field by a conversion of its own. Where an earlier version wrote none, it is
  /// `earlier`.
  template <typename Value, typename Write, typename Read>
  void converted_since(
      const char* name, Value& value, const Write&, const Read& read, const Value& earlier) const {
    value = object_.has(name) ? read(object_.field(name), name) : earlier;
  }
  /// Reads a field, which keeps its value if it is null.
  template <typename Value>
  void known_if(bool /*known*/, const char* name, Value& value, FieldLimits limits = {}) const {
    if (object_.has(name)) {
      value = read<Value>(name, limits);
    }
  }
  /// Reads a text, which is empty where the field is null.
  void null_if_empty(const char* name, std::string& text) const {
    text = object_.text_or_empty(name);
  }
  /// Reads a pair of numbers, which keep their values if the field is null.
  template <typename Number>
  void interval_if(bool /*known*/, const char* name, Number& low, Number& high) const {
    if (object_.has(name)) {
      const auto& [first, second] = number_pair(object_.field(name), name);
      low = Number(first);
      high = Number(second);
    }
  }
  template <typename Body>
  void nested(const char* name, const Body& body) const {
    FieldReader fields(object_.object(name));
    body(fields);
  }
  template <typename Value, typename Body>
  void nested(const char* name, std::optional<Value>& value, const Body& body) const {
    value.reset();
    if (object_.has(name)) {
      nested(name, [&](auto& fields) { body(fields, value.emplace()); });
    }
  }

 private:
  template <typename Value>
  [[nodiscard]] Value read(const char* name, FieldLimits limits) const;

  JsonObject object_;
};

/// Writes a value: a described one as an object of its fields.
template <typename Json, typename Value>
Json json_of(const Value& value) {
  static_assert(!std::is_enum_v<Value>, "a word wants the list of its words");
  if constexpr (fields::kOptional<Value>) {
    return value ? json_of<Json>(*value) : Json();
  } else if constexpr (fields::kArray<Value>) {
    Json list = Json::array();
    for (const auto& each : value) {
      list.push_back(json_of<Json>(each));
    }
    return list;
  } else if constexpr (fields::kDuration<Value>) {
    return Seconds(value).count();
  } else if constexpr (fields::kQuantity<Value>) {
    return value.value;
  } else if constexpr (std::same_as<Value, Timestamp>) {
    return plumb::to_text(value);
  } else if constexpr (std::same_as<Value, std::filesystem::path>) {
    return path_text(value);
  } else if constexpr (std::is_constructible_v<Json, const Value&>) {
    return value;
  } else {
    FieldWriter<Json> fields;
    describe(fields, value);
    return fields.take();
  }
}

/// Writes a described value as the text of one JSON object.
template <typename Value>
[[nodiscard]] std::string described_text(const Value& value) {
  return json_text(json_of(value));
}

/// Reads a described value. Throws Error{kUser} that names the field at fault.
template <typename Value>
[[nodiscard]] Value value_from(const JsonObject& object) {
  Value value;
  FieldReader fields(object);
  describe(fields, value);
  return value;
}

/// Reads a described value from the text of a JSON object. Throws Error{kUser} that says what is
/// wrong.
template <typename Value>
[[nodiscard]] Value value_from_text(std::string_view text) {
  const nlohmann::json document = parse_json(text);
  return value_from<Value>(JsonObject(document));
}

template <typename Value>
Value FieldReader::read(const char* name, FieldLimits limits) const {
  if constexpr (fields::kOptional<Value>) {
    return object_.has(name) ? Value(read<typename Value::value_type>(name, limits)) : Value();
  } else if constexpr (std::same_as<Value, bool>) {
    return object_.boolean(name);
  } else if constexpr (std::is_integral_v<Value>) {
    return static_cast<Value>(object_.integer(name, limits.low, limits.high));
  } else if constexpr (std::is_floating_point_v<Value>) {
    return limited(object_.number(name), name, limits);
  } else if constexpr (std::same_as<Value, std::string>) {
    return limited(object_.text(name), name, limits);
  } else if constexpr (std::same_as<Value, Seconds>) {
    return Seconds(limited(object_.number(name), name, limits));
  } else if constexpr (fields::kDuration<Value>) {
    return nanoseconds_of(limited(object_.number(name), name, limits), name);
  } else if constexpr (fields::kQuantity<Value>) {
    return {read<decltype(Value::value)>(name, limits)};
  } else if constexpr (std::same_as<Value, Timestamp>) {
    return object_.time(name);
  } else if constexpr (std::same_as<Value, Facts>) {
    return object_.facts(name);
  } else if constexpr (std::same_as<Value, std::map<std::string, std::int64_t>>) {
    return object_.integers(name, limits.low, limits.high, limits.elements);
  } else if constexpr (std::same_as<Value, std::filesystem::path>) {
    return path_from_text(object_.text(name));
  } else if constexpr (std::same_as<Value, std::vector<std::string>>) {
    return object_.texts(name, limits.elements);
  } else if constexpr (std::same_as<Value, std::vector<std::filesystem::path>>) {
    Value paths;
    for (const std::string& text : object_.texts(name, limits.elements)) {
      paths.push_back(path_from_text(text));
    }
    return paths;
  } else if constexpr (fields::kArray<Value>) {
    using Element = typename Value::value_type;
    Value list;
    for (const nlohmann::json& entry : object_.array(name, limits.elements)) {
      if constexpr (std::is_unsigned_v<Element>) {
        list.push_back(static_cast<Element>(whole_number(entry, name, limits)));
      } else if constexpr (std::same_as<Element, Seconds> || std::is_floating_point_v<Element>) {
        list.push_back(Element(limited(finite_number(entry, name), name, limits)));
      } else {
        list.push_back(value_from<Element>(JsonObject(entry)));
      }
    }
    return list;
  } else {
    return value_from<Value>(object_.object(name));
  }
}

}  // namespace plumb::results
