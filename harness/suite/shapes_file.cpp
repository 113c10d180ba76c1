// SPDX-License-Identifier: Apache-2.0
#include "harness/suite/shapes_file.hpp"

#include "harness/model/key/layer_spec.hpp"
#include "harness/suite/toml_section.hpp"

namespace plumb::suite {
namespace {

constexpr std::int64_t kMaximumOccurrences = 1'000'000'000;

}  // namespace

std::vector<ShapesRow> read_shapes(const std::filesystem::path& file) {
  const toml::table table = parse_toml_file(file, "shapes file");
  std::vector<ShapesRow> rows;
  TomlSection top(file, table, "a shapes file");
  top.each("layers", [&](TomlSection& section) {
    ShapesRow row{.line = section.line(), .key = {}, .count = 1};
    const auto key = section.text("key", [&row](const std::string& text) {
      row.key = model::to_key(model::parse_key({text}));
    });
    if (!key) {
      section.fail("[[layers]] needs a 'key'");
    }
    row.count = section.integer("count", 1, kMaximumOccurrences).value_or(1);
    rows.push_back(std::move(row));
  });
  top.finish();
  return rows;
}

}  // namespace plumb::suite
