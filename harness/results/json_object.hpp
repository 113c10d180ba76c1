// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/results/run.hpp"

namespace plumb::results {

/// Parses one JSON document from outside. Throws Error{kUser} if it is not JSON, nests deeper than
/// 32 levels, has more than ten million values or is longer than 64 MiB. For .cpp files only: the
/// header of the JSON library is heavy.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

/// Reader of the fields of a JSON object that came from outside. It checks presence, type and
/// range. Every function throws Error{kUser} that names the field. It refers to the object, which
/// must outlive it.
class JsonObject {
 public:
  static constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

  explicit JsonObject(const nlohmann::json& value);

  [[nodiscard]] const std::string& text(const char* name) const;
  [[nodiscard]] std::string text_or_empty(const char* name) const;  ///< absent or null: empty
  [[nodiscard]] bool boolean(const char* name) const;
  [[nodiscard]] std::int64_t integer(const char* name, std::int64_t low, std::int64_t high) const;
  [[nodiscard]] double number(const char* name) const;                          ///< finite
  [[nodiscard]] std::optional<double> optional_number(const char* name) const;  ///< null: absent
  [[nodiscard]] Seconds seconds(const char* name) const { return Seconds(number(name)); }
  [[nodiscard]] std::optional<Seconds> optional_seconds(const char* name) const;
  [[nodiscard]] Timestamp time(const char* name) const;
  [[nodiscard]] bool has(const char* name) const;  ///< present and not null
  [[nodiscard]] JsonObject object(const char* name) const;
  [[nodiscard]] const nlohmann::json& array(const char* name, std::size_t at_most) const;
  [[nodiscard]] std::vector<std::string> texts(const char* name, std::size_t at_most) const;
  [[nodiscard]] Facts facts(const char* name) const;  ///< an object whose values are texts
  /// Returns an object of at most so many integers.
  [[nodiscard]] std::map<std::string, std::int64_t> integers(const char* name,
                                                             std::int64_t low,
                                                             std::int64_t high,
                                                             std::size_t at_most) const;
  [[nodiscard]] const nlohmann::json& field(const char* name) const;  ///< whatever its type

 private:
  const nlohmann::json& value_;
};

}  // namespace plumb::results
