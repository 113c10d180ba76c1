// SPDX-License-Identifier: Apache-2.0
#include "harness/suite/toml_section.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

#include "harness/base/error.hpp"
#include "harness/base/name_match.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::suite {
namespace {

constexpr std::size_t kMaximumFile = std::size_t{1} << 20U;

int line_of(const toml::node& node) {
  return static_cast<int>(node.source().begin.line);
}

std::string shortened(std::string_view text) {
  return text.size() <= 64 ? std::string(text) : std::string(text.substr(0, 61)) + "...";
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view nearest = nearest_name(name, known).value_or(std::string_view{});
  if (edit_distance(shortened(name), nearest) * 2 <= nearest.size()) {
    return fmt::format("did you mean '{}'?", nearest);
  }
  return fmt::format("the known ones are {}", fmt::join(known, ", "));
}

}  // namespace

toml::table parse_toml_file(const std::filesystem::path& file, std::string_view what) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMaximumFile + 1, '\0');
  if (!std::filesystem::is_regular_file(file) ||
      (!stream.read(text.data(), static_cast<std::streamsize>(text.size())) && !stream.eof())) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("cannot read {} '{}': no such file, or not readable", what, file.string()));
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMaximumFile) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} '{}' is larger than 1 MiB: split it", what, file.string()));
  }
  if (const std::optional<std::size_t> line = find_deep_toml_key(text)) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "{}:{}: a dotted key has more than {} parts", file.string(), *line, kMaxTomlKeyParts));
  }
  try {
    return toml::parse(text, file.string());
  } catch (const toml::parse_error& error) {
    const auto place = error.source().begin;
    throw Error(Error::Kind::kUser,
                fmt::format("{}:{}:{}: not valid TOML: {}",
                            file.string(),
                            place.line,
                            place.column,
                            error.description()));
  }
}

int TomlSection::line() const {
  return line_of(table_);
}

void TomlSection::fail(const toml::node& at, const std::string& problem) const {
  throw Error(Error::Kind::kUser, fmt::format("{}:{}: {}", file_.string(), line_of(at), problem));
}

const toml::node* TomlSection::find(std::string_view key) {
  known_.push_back(key);
  return table_.get(key);
}

std::string TomlSection::read_text(std::string_view key, const toml::node& node) const {
  const auto* value = node.as_string();
  if (value == nullptr || value->get().empty()) {
    fail(node, fmt::format("'{}' in {} must be a text in quotes", key, name_));
  }
  return value->get();
}

template <typename T>
std::optional<std::vector<T>> TomlSection::list(std::string_view key,
                                                const std::function<T(const toml::node&)>& read) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  std::vector<T> values;
  if (const toml::array* array = node->as_array(); array != nullptr) {
    for (const toml::node& element : *array) {
      values.push_back(read(element));
    }
  } else {
    values.push_back(read(*node));
  }
  if (values.empty()) {
    fail(*node, fmt::format("'{}' in {} is an empty list", key, name_));
  }
  return values;
}

std::optional<std::string> TomlSection::text(std::string_view key,
                                             const std::function<void(const std::string&)>& check) {
  const toml::node* node = find(key);
  return node != nullptr ? std::optional(checked_text(key, *node, check)) : std::nullopt;
}

std::string TomlSection::checked_text(std::string_view key,
                                      const toml::node& node,
                                      const std::function<void(const std::string&)>& check) const {
  std::string text = read_text(key, node);
  if (check) {
    try {
      check(text);
    } catch (const Error& error) {
      fail(node, error.what());
    }
  }
  return text;
}

std::optional<std::vector<std::string>> TomlSection::texts(
    std::string_view key, const std::function<void(const std::string&)>& check) {
  return list<std::string>(key,
                           [&](const toml::node& node) { return checked_text(key, node, check); });
}

std::optional<std::int64_t> TomlSection::integer(std::string_view key,
                                                 std::int64_t low,
                                                 std::int64_t high) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  return read_integer(key, *node, low, high);
}

std::optional<bool> TomlSection::flag(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  const auto* value = node->as_boolean();
  if (value == nullptr) {
    fail(*node, fmt::format("'{}' in {} must be true or false", key, name_));
  }
  return value->get();
}

std::optional<double> TomlSection::real(std::string_view key, double low, double high) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> value = node->value<double>();
  if (!node->is_number() || !value || !(*value > low && *value < high)) {
    fail(*node,
         fmt::format("'{}' in {} must be a number between {} and {}", key, name_, low, high));
  }
  return value;
}

std::optional<std::vector<std::int64_t>> TomlSection::integers(std::string_view key,
                                                               std::int64_t low,
                                                               std::int64_t high) {
  return list<std::int64_t>(
      key, [&](const toml::node& node) { return read_integer(key, node, low, high); });
}

std::optional<std::vector<std::vector<std::int64_t>>> TomlSection::integer_lists(
    std::string_view key, std::int64_t low, std::int64_t high) {
  return list<std::vector<std::int64_t>>(key, [&](const toml::node& node) {
    const toml::array* const inner = node.as_array();
    if (inner == nullptr || inner->empty()) {
      fail(node, fmt::format("'{}' in {} must be a list of lists of integers", key, name_));
    }
    std::vector<std::int64_t> values;
    for (const toml::node& element : *inner) {
      values.push_back(read_integer(key, element, low, high));
    }
    return values;
  });
}

std::optional<std::vector<std::string>> TomlSection::choices(
    std::string_view key, std::span<const std::string_view> words) {
  return list<std::string>(key, [&](const toml::node& node) {
    std::string word = read_text(key, node);
    if (std::find(words.begin(), words.end(), word) == words.end()) {
      fail(node, fmt::format("unknown {} '{}'; {}", key, shortened(word), suggestion(word, words)));
    }
    return word;
  });
}

void TomlSection::each(std::string_view key, const std::function<void(TomlSection&)>& read) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* tables = node->as_array();
  if (tables == nullptr || !tables->is_homogeneous(toml::node_type::table)) {
    fail(*node, fmt::format("'{}' must be written as [[{}]] tables", key, key));
  }
  for (const toml::node& table : *tables) {
    TomlSection section(file_, *table.as_table(), fmt::format("[[{}]]", key));
    read(section);
    section.finish();
  }
}

void TomlSection::one(std::string_view key,
                      const std::string& name,
                      const std::function<void(TomlSection&)>& read) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return;
  }
  if (!node->is_table()) {
    fail(*node, fmt::format("'{}' must be a table: {}", key, name));
  }
  TomlSection section(file_, *node->as_table(), name);
  read(section);
  section.finish();
}

void TomlSection::entries(std::string_view key,
                          const std::function<void(const std::string&, const toml::node&)>& read) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return;
  }
  if (!node->is_table()) {
    fail(*node, fmt::format("'{}' in {} must be a table", key, name_));
  }
  for (const auto& [name, value] : *node->as_table()) {
    read(std::string(name.str()), value);
  }
}

std::int64_t TomlSection::read_integer(std::string_view key,
                                       const toml::node& node,
                                       std::int64_t low,
                                       std::int64_t high) const {
  const auto* value = node.as_integer();
  if (value == nullptr) {
    fail(node, fmt::format("'{}' in {} must be an integer", key, name_));
  }
  if (value->get() < low || value->get() > high) {
    fail(node,
         fmt::format(
             "'{}' in {} is {}; it must be from {} to {}", key, name_, value->get(), low, high));
  }
  return value->get();
}

ExtentRange TomlSection::read_range(const std::string& key,
                                    const toml::node& node,
                                    std::int64_t high) const {
  if (!node.is_table()) {
    const std::int64_t extent = read_integer(key, node, 1, high);
    return {.from = extent, .to = extent, .step = "x2"};
  }
  TomlSection range(file_, *node.as_table(), key);
  const auto from = range.integer("from", 1, high);
  const auto to = range.integer("to", 1, high);
  const auto step = range.text("step");
  range.finish();
  if (!from || !to || *to < *from) {
    range.fail(fmt::format("{} needs 'from' and 'to', and 'to' must not be less", key));
  }
  return {.from = *from, .to = *to, .step = step.value_or("x2")};
}

std::vector<ExtentRange> TomlSection::read_ranges(const std::string& key,
                                                  const toml::node& node,
                                                  std::int64_t high) const {
  const toml::array* const list = node.as_array();
  if (list == nullptr) {
    return {read_range(key, node, high)};
  }
  std::vector<ExtentRange> ranges;
  for (const toml::node& element : *list) {
    ranges.push_back(read_range(key, element, high));
  }
  if (ranges.empty()) {
    fail(node, fmt::format("'{}' in {} is an empty list", key, name_));
  }
  return ranges;
}

void TomlSection::finish() const {
  for (const auto& [key, node] : table_) {
    const std::string_view name = key.str();
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
      const auto line = key.source().begin.line;
      throw Error(Error::Kind::kUser,
                  fmt::format("{}:{}: unknown key '{}' in {}; {}",
                              file_.string(),
                              line,
                              shortened(name),
                              name_,
                              suggestion(name, known_)));
    }
  }
}

}  // namespace plumb::suite
