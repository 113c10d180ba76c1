// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/stack/stack_documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>

#include "harness/analysis/report/run_json.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kMaxShown = 20;  // layers, and symbols of a library, in the text

analysis::Json side_json(
    const std::optional<analysis::StackDifference::Contents::Library>& library) {
  if (!library) {
    return nullptr;
  }
  return {
      {"version", library->version.empty() ? analysis::Json() : analysis::Json(library->version)},
      {"path", library->path},
      {"sha256", library->sha256},
      {"size_bytes", library->size.value},
      {"symbols", library->symbols.size()}};
}

void write_difference_json(const analysis::StackDifference& difference, std::ostream& out) {
  analysis::Json document{{"schema_version", analysis::kJsonSchemaVersion},
                          {"from", difference.from},
                          {"to", difference.to},
                          {"same_libraries", difference.same_libraries},
                          {"libraries", analysis::Json::array()},
                          {"kinds", analysis::Json::object()},
                          {"engines", analysis::Json::object()},
                          {"layers", analysis::Json::array()}};
  for (const analysis::StackDifference::Library& library : difference.libraries) {
    document["libraries"].push_back({{"name", (library.to ? library.to : library.from)->name},
                                     {"from", side_json(library.from)},
                                     {"to", side_json(library.to)},
                                     {"symbols_added", library.symbols_added},
                                     {"symbols_removed", library.symbols_removed}});
  }
  for (const auto& [name, kind] : difference.kinds) {
    document["kinds"][name] = {{"layers", kind.layers},
                               {"unsupported", {kind.unsupported_from, kind.unsupported_to}},
                               {"variants", {kind.variants_from, kind.variants_to}},
                               {"other_choice", kind.other_choice}};
  }
  for (const analysis::StackDifference::Layer& layer : difference.layers) {
    document["layers"].push_back({{"key", layer.key.text},
                                  {"from_choice", analysis::text_or_null(layer.from_choice)},
                                  {"to_choice", analysis::text_or_null(layer.to_choice)},
                                  {"fell_back", layer.fell_back},
                                  {"variants_added", layer.added},
                                  {"variants_removed", layer.removed},
                                  {"passed_over_by_from", layer.passed_over_by_from},
                                  {"passed_over_by_to", layer.passed_over_by_to}});
  }
  for (const auto& [name, counts] : difference.engines) {
    analysis::Json offers = analysis::Json::object();
    for (const auto& [heuristic, offered] : counts.offers) {
      offers[heuristic] = {offered.first, offered.second};
    }
    document["engines"][name] = {
        {"layers_times_layouts", counts.asked},
        {"without_engine", {counts.without_engine_from, counts.without_engine_to}},
        {"engines", {counts.engines_from, counts.engines_to}},
        {"configurations_offered", std::move(offers)}};
  }
  write_json(document, out);
}

std::string version_text(
    const std::optional<analysis::StackDifference::Contents::Library>& library) {
  if (!library) {
    return "missing";
  }
  constexpr std::size_t kDigits = 12;
  return fmt::format("{} ({}, {})",
                     library->version.empty() ? "version unknown" : library->version,
                     library->sha256.substr(0, kDigits),
                     bytes_text(library->size));
}

/// Writes the names of a library's C entry points, and the number of its C++ symbols. A reader
/// cannot use the names of these, and they change with every build.
void write_symbols(const std::string& library,
                   const std::string& change,
                   const std::vector<std::string>& symbols,
                   std::ostream& out) {
  std::vector<std::string> named;
  std::copy_if(
      symbols.begin(), symbols.end(), std::back_inserter(named), [](const std::string& symbol) {
        return symbol.rfind("_Z", 0) != 0;
      });
  const std::size_t hidden = symbols.size() - named.size();
  if (symbols.empty()) {
    return;
  }
  const auto shown = std::span(named).first(std::min(named.size(), kMaxShown));
  out << sanitize_utf8(fmt::format("{}: {} {}{}{}{}{}",
                                   library,
                                   symbols.size(),
                                   change,
                                   shown.empty() ? "" : ": ",
                                   fmt::join(shown, " "),
                                   shown.size() < named.size() ? " …" : "",
                                   hidden == 0 ? "" : fmt::format(" ({} of C++)", hidden)))
      << '\n';
}

void write_libraries(const analysis::StackDifference& difference, std::ostream& out) {
  AlignedTable table({{"library"}, {"from"}, {"to"}});
  for (const analysis::StackDifference::Library& library : difference.libraries) {
    table.add({(library.to ? library.to : library.from)->name,
               version_text(library.from),
               version_text(library.to)});
  }
  if (!difference.libraries.empty()) {
    table.write(out);
  }
  out << fmt::format("{} libraries are the same in both\n", difference.same_libraries);
  for (const analysis::StackDifference::Library& library : difference.libraries) {
    const std::string& name = (library.to ? library.to : library.from)->name;
    write_symbols(name, "symbols gone", library.symbols_removed, out);
    write_symbols(name, "symbols new", library.symbols_added, out);
  }
}

void write_reasons(const std::string& stack,
                   const std::map<std::string, std::string>& reasons,
                   std::ostream& out) {
  for (const auto& [implementation, reason] : reasons) {
    out << sanitize_utf8(fmt::format("  {} passed over {}: {}", stack, implementation, reason))
        << '\n';
  }
}

void write_engines(const analysis::StackDifference& difference, std::ostream& out) {
  for (const auto& [name, counts] : difference.engines) {
    out << fmt::format(
        "\n{}: {} questions (layers × layouts), without an engine {} → {}, engines {} → {}\n",
        sanitize_utf8(name),
        counts.asked,
        counts.without_engine_from,
        counts.without_engine_to,
        counts.engines_from,
        counts.engines_to);
    for (const auto& [heuristic, offered] : counts.offers) {
      out << fmt::format("  configurations offered by heuristic {}: {} → {}\n",
                         sanitize_utf8(heuristic),
                         offered.first,
                         offered.second);
    }
  }
}

void write_layers(const analysis::StackDifference& difference, std::ostream& out) {
  AlignedTable kinds({{"kind"},
                      {"layers", true},
                      {"unsupported", true},
                      {"variants", true},
                      {"other choice", true}});
  for (const auto& [name, kind] : difference.kinds) {
    kinds.add({name,
               std::to_string(kind.layers),
               fmt::format("{} → {}", kind.unsupported_from, kind.unsupported_to),
               fmt::format("{} → {}", kind.variants_from, kind.variants_to),
               std::to_string(kind.other_choice)});
  }
  out << '\n';
  kinds.write(out);
  std::size_t shown = 0;
  for (const analysis::StackDifference::Layer& layer : difference.layers) {
    if (++shown > kMaxShown) {
      out << fmt::format("\nand {} more layers: --json has all\n",
                         difference.layers.size() - kMaxShown);
      break;
    }
    const auto named = [](const std::string& choice) {
      return choice.empty() ? "unsupported" : choice;
    };
    out << '\n'
        << sanitize_utf8(layer.key.text)
        << "\n  chosen: " << sanitize_utf8(named(layer.from_choice)) << " → "
        << sanitize_utf8(named(layer.to_choice))
        << (layer.fell_back ? " (the slow reference)\n" : "\n");
    if (!layer.removed.empty()) {
      out << "  gone: " << sanitize_utf8(fmt::format("{}", fmt::join(layer.removed, "  "))) << '\n';
    }
    if (!layer.added.empty()) {
      out << "  new: " << sanitize_utf8(fmt::format("{}", fmt::join(layer.added, "  "))) << '\n';
    }
    write_reasons(difference.to, layer.passed_over_by_to, out);
    write_reasons(difference.from, layer.passed_over_by_from, out);
  }
}

}  // namespace

void write_stacks(std::span<const analysis::StackReport> stacks,
                  OutputMode style,
                  std::ostream& out) {
  if (style == OutputMode::kJson) {
    analysis::Json document{{"schema_version", analysis::kJsonSchemaVersion},
                            {"stacks", analysis::Json::array()}};
    for (const analysis::StackReport& stack : stacks) {
      analysis::Json libraries = analysis::Json::array();
      for (const analysis::StackReport::Library& library : stack.libraries) {
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
    for (const analysis::StackReport::Library& library : stack.libraries) {
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

void write_stack_difference(const analysis::StackDifference& difference,
                            OutputMode style,
                            std::ostream& out) {
  if (style == OutputMode::kJson) {
    return write_difference_json(difference, out);
  }
  out << fmt::format("'{}' → '{}'\n", sanitize_utf8(difference.from), sanitize_utf8(difference.to));
  write_libraries(difference, out);
  if (!difference.kinds.empty()) {
    write_layers(difference, out);
  }
  write_engines(difference, out);
}

}  // namespace plumb::reporting
