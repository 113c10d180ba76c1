// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <span>

#include "harness/base/error.hpp"
#include "harness/base/nearest_name.hpp"
#include "harness/model/layer_spec.hpp"
#include "harness/suite/shapes_file.hpp"
#include "harness/suite/suite.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMaximumFile = std::size_t{1} << 20U;
constexpr std::int64_t kMaximumBatch = 1'000'000;
constexpr std::int64_t kMaximumExtent = std::int64_t{1} << 40U;
constexpr std::int64_t kMaximumCount = 1'000'000'000;
constexpr std::array<std::string_view, 6> kDtypes{"f32", "bf16", "f16", "f64", "s8", "u8"};
constexpr std::array<std::string_view, 3> kCaches{"none", "weights", "all"};
constexpr std::array<std::string_view, 4> kScenarios{
    "single_stream", "multi_stream", "server", "offline"};

using Path = std::filesystem::path;

/// Is one table of the file while it is read: every accessor checks the type and notes that its key
/// is known, so that finish() can name the keys that are not.
class Section {
 public:
  Section(const Path& file, const toml::table& table, std::string name)
      : file_(file), table_(table), name_(std::move(name)) {}

  [[nodiscard]] int line() const { return line_of(table_); }

  [[noreturn]] void fail(const toml::node& at, const std::string& problem) const {
    throw Error(Error::Kind::kUser, fmt::format("{}:{}: {}", file_.string(), line_of(at), problem));
  }
  [[noreturn]] void fail(const std::string& problem) const { fail(table_, problem); }

  /// Reads a text. What `check` throws is reported with the line.
  std::optional<std::string> text(std::string_view key,
                                  const std::function<void(const std::string&)>& check = {}) {
    const toml::node* node = find(key);
    if (node == nullptr) {
      return std::nullopt;
    }
    std::string text = text_of(key, *node);
    if (check) {
      try {
        check(text);
      } catch (const Error& error) {
        fail(*node, error.what());
      }
    }
    return text;
  }

  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high) {
    const toml::node* node = find(key);
    if (node == nullptr) {
      return std::nullopt;
    }
    return integer_of(key, *node, low, high);
  }

  std::optional<std::vector<std::int64_t>> integers(std::string_view key,
                                                    std::int64_t low,
                                                    std::int64_t high) {
    return list<std::int64_t>(
        key, [&](const toml::node& node) { return integer_of(key, node, low, high); });
  }

  /// Reads a list of words, each of which must be one of `words`.
  std::optional<std::vector<std::string>> choices(std::string_view key,
                                                  std::span<const std::string_view> words) {
    return list<std::string>(key, [&](const toml::node& node) {
      std::string word = text_of(key, node);
      if (std::find(words.begin(), words.end(), word) == words.end()) {
        fail(node,
             fmt::format("unknown {} '{}'; {}", key, shortened(word), suggestion(word, words)));
      }
      return word;
    });
  }

  /// Calls `read` for each table of an array of tables, with the table's own section.
  void each(std::string_view key, const std::function<void(Section&)>& read) {
    const toml::node* node = find(key);
    if (node == nullptr) {
      return;
    }
    const toml::array* tables = node->as_array();
    if (tables == nullptr || !tables->is_homogeneous(toml::node_type::table)) {
      fail(*node, fmt::format("'{}' must be written as [[{}]] tables", key, key));
    }
    for (const toml::node& table : *tables) {
      Section section(file_, *table.as_table(), fmt::format("[[{}]]", key));
      read(section);
      section.finish();
    }
  }

  /// Calls `read` for a table, if there is one.
  void one(std::string_view key, const std::function<void(Section&)>& read) {
    const toml::node* node = find(key);
    if (node == nullptr) {
      return;
    }
    if (!node->is_table()) {
      fail(*node, fmt::format("'{}' must be a table: [{}]", key, key));
    }
    Section section(file_, *node->as_table(), fmt::format("[{}]", key));
    read(section);
    section.finish();
  }

  /// Calls `read` for every key of the table `key`, whatever their names are.
  void entries(std::string_view key,
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

  std::int64_t integer_of(std::string_view key,
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

  void finish() const {
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

 private:
  static int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

  static std::string shortened(std::string_view text) {
    return text.size() <= 64 ? std::string(text) : std::string(text.substr(0, 61)) + "...";
  }

  static std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
    const std::string_view nearest = nearest_name(name, known).value_or(std::string_view{});
    if (edit_distance(shortened(name), nearest) * 2 <= nearest.size()) {
      return fmt::format("did you mean '{}'?", nearest);
    }
    return fmt::format("known are {}", fmt::join(known, ", "));
  }

  const toml::node* find(std::string_view key) {
    known_.push_back(key);
    return table_.get(key);
  }

  std::string text_of(std::string_view key, const toml::node& node) const {
    const auto* value = node.as_string();
    if (value == nullptr || value->get().empty()) {
      fail(node, fmt::format("'{}' in {} must be a text in quotes", key, name_));
    }
    return value->get();
  }

  /// Reads a list; one value alone stands for a list of one.
  template <typename T>
  std::optional<std::vector<T>> list(std::string_view key,
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

  const Path& file_;
  const toml::table& table_;
  std::string name_;
  std::vector<std::string_view> known_;
};

toml::table parse_file(const Path& file, std::string_view what) {
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

void read_lists(Section& section, SuiteSpec::Defaults& lists) {
  lists.batch = section.integers("batch", 1, kMaximumBatch);
  lists.dtype = section.choices("dtype", kDtypes);
  lists.scenario = section.choices("scenario", kScenarios);
}

SuiteSpec::DimensionRange read_range(Section& section,
                                     const std::string& name,
                                     const toml::node& node,
                                     const Path& file) {
  if (!node.is_table()) {
    const std::int64_t extent = section.integer_of("dim." + name, node, 1, kMaximumExtent);
    return {.from = extent, .to = extent, .step = "x2"};
  }
  Section range(file, *node.as_table(), "dim." + name);
  const auto from = range.integer("from", 1, kMaximumExtent);
  const auto to = range.integer("to", 1, kMaximumExtent);
  const auto step = range.text("step");
  range.finish();
  if (!from || !to || *to < *from) {
    range.fail(fmt::format("dim.{} needs 'from' and 'to', and 'to' must not be less", name));
  }
  return {.from = *from, .to = *to, .step = step.value_or("x2")};
}

SuiteSpec::ModelEntry read_model_entry(Section& section, const Path& file) {
  SuiteSpec::ModelEntry model;
  model.line = section.line();
  model.name = section.text("name");
  if (const auto path = section.text("path")) {
    model.path = *path;
  }
  if (model.name.has_value() == model.path.has_value()) {
    section.fail("[[model]] needs either a 'name' of the zoo or the 'path' of an .onnx file");
  }
  read_lists(section, model.overrides);
  section.entries("dim", [&](const std::string& name, const toml::node& node) {
    model.dims[name] = read_range(section, name, node, file);
  });
  return model;
}

}  // namespace

SuiteSpec read_suite(const std::filesystem::path& file) {
  const toml::table table = parse_file(file, "suite");
  SuiteSpec spec;
  spec.file = file;
  spec.name = file.stem().string();
  Section top(file, table, "a suite");
  top.one("suite", [&](Section& section) {
    spec.name = section.text("name").value_or(spec.name);
    spec.version = section.integer("version", 1, kMaximumCount).value_or(1);
    spec.reuse = section.text("reuse", [](const std::string& text) { (void)parse_reuse(text); });
    spec.budget =
        section.text("budget", [](const std::string& text) { (void)parse_duration(text); });
  });
  top.one("defaults", [&](Section& section) {
    read_lists(section, spec.defaults);
    spec.defaults.cache = section.choices("cache", kCaches);
  });
  top.each("model",
           [&](Section& section) { spec.models.push_back(read_model_entry(section, file)); });
  top.each("layers", [&](Section& section) {
    const auto shapes = section.text("file");
    if (!shapes) {
      section.fail("[[layers]] needs the 'file' that lists them");
    }
    spec.layers.push_back({.line = section.line(), .file = *shapes});
  });
  top.finish();
  if (spec.models.empty() && spec.layers.empty()) {
    top.fail("the suite is empty: add a [[model]] or [[layers]]");
  }
  return spec;
}

std::vector<ShapesRow> read_shapes(const std::filesystem::path& file) {
  const toml::table table = parse_file(file, "shapes file");
  std::vector<ShapesRow> rows;
  Section top(file, table, "a shapes file");
  top.each("layer", [&](Section& section) {
    ShapesRow row{.line = section.line(), .key = {}, .count = 1};
    const auto key = section.text(
        "key", [&row](const std::string& text) { row.key = to_key(parse_key({text})); });
    if (!key) {
      section.fail("[[layer]] needs a 'key'");
    }
    row.count = section.integer("count", 1, kMaximumCount).value_or(1);
    rows.push_back(std::move(row));
  });
  top.finish();
  return rows;
}

}  // namespace plumb
