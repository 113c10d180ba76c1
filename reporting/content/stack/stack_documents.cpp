// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/stack/stack_documents.hpp"

#include <ostream>
#include <utility>

#include "harness/analysis/report/run_json.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
void write_stacks(std::span<const analysis::StackReport> stacks,
                  OutputMode style,
                  std::ostream& out) {
  if (style == OutputMode::kJson) {
    analysis::Json document{{"schema_version", analysis::kJsonSchemaVersion},
                            {"stacks", analysis::Json::array()}};
    for (const analysis::StackReport& stack : stacks) {
      analysis::Json libraries = analysis::Json::array();
      for (const analysis::StackLibrary& library : stack.libraries) {
        libraries.push_back({{"name", library.name},
                             {"version", analysis::text_or_null(library.version)},
                             {"path", library.path},
                             {"sha256", analysis::text_or_null(library.sha256)}});
      }
      analysis::Json row{
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
  for (const analysis::StackReport& stack : stacks) {
    std::string name = stack.name;
    std::string backend = stack.backend;
    for (const analysis::StackLibrary& library : stack.libraries) {
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
  for (const analysis::StackReport& stack : stacks) {
    for (const std::string& problem : stack.problems) {
      out << "problem in '" << sanitize_utf8(stack.name) << "': " << sanitize_utf8(problem) << '\n';
    }
  }
}

}  // namespace plumb::reporting
