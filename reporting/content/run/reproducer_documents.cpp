// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/reproducer_documents.hpp"

#include <fmt/format.h>

#include <ostream>

#include "reporting/document/markdown_text.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

std::string times_text(const measure::SampleSummary& time) {
  return fmt::format("{} | {} to {} | {}",
                     time_text(time.median),
                     time_text(time.interval.low),
                     time_text(time.interval.high),
                     time.n);
}

void write_facts(const char* title, const results::Facts& facts, std::ostream& out) {
  out << fmt::format("\n## {}\n\n| fact | value |\n| --- | --- |\n", title);
  for (const auto& [name, value] : facts) {
    out << fmt::format("| {} | {} |\n", markdown_cell(name), markdown_cell(value));
  }
}

}  // namespace

void write_reproducer_readme(const model::LayerKey& key,
                             std::span<const results::Measurement> rows,
                             const results::Environment& environment,
                             const std::string& stack,
                             const std::string& instructions,
                             std::ostream& out) {
  out << fmt::format("# Reproducer\n\n{}\n\n", markdown_code(key.text));
  out << "One execution of the layer, on warm buffers. Raw times include the cost of a call from "
         "the outside, like the program's times. Net times do not. Intervals: 95 %.\n\n| variant | "
         "net median | interval | n | raw median | largest error | output |\n| --- | --- | --- | "
         "--- | --- | --- | --- |\n";
  for (const results::Measurement& row : rows) {
    out << fmt::format("| {}{} | {} | {} | {} | {} |\n",
                       markdown_cell(row.variant),
                       row.library_choice ? " (the library's choice)" : "",
                       times_text(row.corrected()),
                       time_text(row.summary.median),
                       row.maximum_error ? fmt::format("{:.3g}", *row.maximum_error) : "–",
                       row.output_hash.empty() ? "–" : markdown_cell(row.output_hash));
  }
  out << "\nn counts samples. The largest error is relative to the largest element of a reference "
         "in float64. The output is the XXH64 of its bytes. `row.json` holds the rows, and "
         "`api.log` (if there is one) the library's own log of the calls.\n\n## Build and run\n\n"
      << instructions;
  out << fmt::format("\n## Measured with\n\nThe stack {}, environment {}.\n",
                     markdown_code(stack),
                     environment.id());
  write_facts("Identity", environment.identity, out);
  write_facts("Recorded", environment.facts, out);
}

}  // namespace plumb::reporting
