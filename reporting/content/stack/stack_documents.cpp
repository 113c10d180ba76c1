// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/stack/stack_documents.hpp"

#include <ostream>
#include <utility>

#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

}  // namespace

void write_stacks(std::span<const StackReport> stacks, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    Json document{{"schema_version", kJsonSchemaVersion}, {"stacks", Json::array()}};
    for (const StackReport& stack : stacks) {
      Json libraries = Json::array();
      for (const StackLibrary& library : stack.libraries) {
        libraries.push_back({{"name", library.name},
                             {"version", text_or_null(library.version)},
                             {"path", library.path},
                             {"sha256", text_or_null(library.sha256)}});
      }
      Json row{
          {"name", stack.name}, {"backend", stack.backend}, {"libraries", std::move(libraries)}};
      if (!stack.device.empty()) {
        row["device"] = stack.device;
      }
      row["problems"] = stack.problems;
      document["stacks"].push_back(std::move(row));
    }
    return write_json(document, out);
  }
  constexpr std::size_t kDigits = 16;  // of a hash, for people
  AlignedTable table({{"stack"}, {"backend"}, {"library"}, {"version"}, {"sha256"}, {"path"}});
  for (const StackReport& stack : stacks) {
    std::string name = stack.name;
    std::string backend = stack.backend;
    for (const StackLibrary& library : stack.libraries) {
      table.add({std::exchange(name, ""),
                 std::exchange(backend, ""),
                 library.name,
                 library.version.empty() ? "–" : library.version,
                 library.sha256.empty() ? "–" : library.sha256.substr(0, kDigits),
                 library.path});
    }
    if (stack.libraries.empty()) {
      table.add({name, backend, "–", "–", "–", "–"});
    }
  }
  table.write(out);
  for (const StackReport& stack : stacks) {
    for (const std::string& problem : stack.problems) {
      out << "problem in '" << sanitize_utf8(stack.name) << "': " << sanitize_utf8(problem) << '\n';
    }
  }
}

}  // namespace plumb
