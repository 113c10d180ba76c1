// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/suite/extent_range.hpp"

namespace plumb::suite {

/// Parses a TOML file of at most 1 MiB. `what` names the file in messages: "suite". Throws
/// Error{kUser} with file, line and column.
[[nodiscard]] toml::table parse_toml_file(const std::filesystem::path& file, std::string_view what);

/// One table of a file while it is read. Every accessor checks the type and notes that its key is
/// known, so that finish() can name the unknown keys. All throw Error{kUser} with file and line.
/// `file`, `table` and the keys must outlive it.
class TomlSection {
 public:
  /// Begins to read a table, which messages call `name`: "[suite]".
  TomlSection(const std::filesystem::path& file, const toml::table& table, std::string name)
      : file_(file), table_(table), name_(std::move(name)) {}

  [[nodiscard]] int line() const;
  [[noreturn]] void fail(const toml::node& at, const std::string& problem) const;
  [[noreturn]] void fail(const std::string& problem) const { fail(table_, problem); }

  /// Reads a text. An error that `check` throws is reported with the line.
  std::optional<std::string> text(std::string_view key,
                                  const std::function<void(const std::string&)>& check = {});
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::optional<bool> flag(std::string_view key);
  /// Reads a number, whole or not, between `low` and `high`, both excluded.
  std::optional<double> real(std::string_view key, double low, double high);
  /// Reads a list. A single value is a list of one.
  std::optional<std::vector<std::int64_t>> integers(std::string_view key,
                                                    std::int64_t low,
                                                    std::int64_t high);
  /// Reads a list of lists that are not empty.
  std::optional<std::vector<std::vector<std::int64_t>>> integer_lists(std::string_view key,
                                                                      std::int64_t low,
                                                                      std::int64_t high);
  /// Reads a list of words, each of which must be one of `words`.
  std::optional<std::vector<std::string>> choices(std::string_view key,
                                                  std::span<const std::string_view> words);

  /// Reads a list of texts. An error that `check` throws is reported with the line.
  std::optional<std::vector<std::string>> texts(
      std::string_view key, const std::function<void(const std::string&)>& check);

  /// Calls `read` for each table of an array of tables, with the table's own section.
  void each(std::string_view key, const std::function<void(TomlSection&)>& read);
  /// Calls `read` for a table if it is present. Messages call it `name`.
  void one(std::string_view key,
           const std::string& name,
           const std::function<void(TomlSection&)>& read);
  /// Calls `read` for every key of the table `key`, whatever its name.
  void entries(std::string_view key,
               const std::function<void(const std::string&, const toml::node&)>& read);

  [[nodiscard]] std::int64_t read_integer(std::string_view key,
                                          const toml::node& node,
                                          std::int64_t low,
                                          std::int64_t high) const;

  /// Reads 128, {from = 128, to = 1024, step = "x2"}, or a list of these. Without a step it is
  /// "x2".
  [[nodiscard]] std::vector<ExtentRange> read_ranges(const std::string& key,
                                                     const toml::node& node,
                                                     std::int64_t high) const;

  /// Refuses every key that no accessor has read, and names the nearest known one.
  void finish() const;

 private:
  [[nodiscard]] ExtentRange read_range(const std::string& key,
                                       const toml::node& node,
                                       std::int64_t high) const;
  const toml::node* find(std::string_view key);
  [[nodiscard]] std::string read_text(std::string_view key, const toml::node& node) const;
  [[nodiscard]] std::string checked_text(
      std::string_view key,
      const toml::node& node,
      const std::function<void(const std::string&)>& check) const;
  template <typename T>
  std::optional<std::vector<T>> list(std::string_view key,
                                     const std::function<T(const toml::node&)>& read);

  const std::filesystem::path& file_;
  const toml::table& table_;
  std::string name_;
  std::vector<std::string_view> known_;
};

}  // namespace plumb::suite
