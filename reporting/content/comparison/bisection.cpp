// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/bisection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "harness/analysis/report/bisection_json.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

std::string result_of(const analysis::BisectionStep& step) {
  using enum analysis::SearchTask::Purpose;
  const bool bad = step.state == analysis::CandidateState::kBad;
  std::string result(to_text(step.state));
  if (step.task.purpose == kEnds && bad) {
    result = to_text(step.test.verdict);
  } else if (step.task.purpose == kConfirmation) {
    result = bad ? "confirmed" : "not confirmed";
  }
  const std::string& why = step.problem.empty() ? step.test.reason : step.problem;
  return result + (why.empty() ? "" : ": " + why);
}

void write_steps(const analysis::Bisection& bisection, std::ostream& out) {
  AlignedTable table({{"  " + bisection.unit},
                      {bisection.unit == "commit" ? "subject" : "version"},
                      {"against"},
                      {"against it", true},
                      {"this one", true},
                      {"change", true},
                      {"95 %", true},
                      {"pairs", true},
                      {"result"},
                      {"implementation"}});
  for (const analysis::BisectionStep& step : bisection.steps) {
    const analysis::MetricComparison& test = step.test;
    const bool compared = test.ratio.has_value();
    table.add({"  " + short_name(bisection, step.task.candidate),
               bisection.line[step.task.candidate].about,
               short_name(bisection, step.task.against),
               compared ? time_text(Seconds(test.baseline)) : "–",
               compared ? time_text(Seconds(test.candidate)) : "–",
               compared ? fmt::format("{:+.1f} %", 100.0 * (*test.ratio - 1.0)) : "–",
               compared ? fmt::format("{:+.1f} % … {:+.1f} %",
                                      100.0 * (test.low - 1.0),
                                      100.0 * (test.high - 1.0))
                        : "–",
               std::to_string(step.pairs),
               result_of(step),
               step.baseline_variant == step.candidate_variant
                   ? step.candidate_variant
                   : step.baseline_variant + " → " + step.candidate_variant});
  }
  table.write(out);
}

/// Names the candidates of which one is the first bad one, where they are several.
void write_range(const analysis::Bisection& bisection, std::ostream& out) {
  constexpr std::size_t kMaxNamed = 20;
  const std::size_t first = bisection.last_good + 1;
  const std::size_t last = std::min(bisection.first_bad, bisection.last_good + kMaxNamed);
  out << fmt::format("one of these {} is the first bad one:\n",
                     bisection.first_bad - bisection.last_good);
  for (std::size_t i = first; i <= last; ++i) {
    out << fmt::format(
        "  {}  {}  {}\n",
        sanitize_utf8(bisection.line[i].name),
        to_text(i == bisection.first_bad ? analysis::CandidateState::kBad : state_of(bisection, i)),
        sanitize_utf8(bisection.line[i].about));
  }
  if (last < bisection.first_bad) {
    out << fmt::format("  … and {} more, see --json\n", bisection.first_bad - last);
  }
}

}  // namespace

void write_bisection(const analysis::Bisection& bisection, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    write_json(analysis::bisection_document(bisection), out);
    return;
  }
  out << fmt::format("{}\n{}\n",
                     sanitize_utf8(bisection.subject ? bisection.subject->name : bisection.what),
                     sanitize_utf8(conclusion(bisection)));
  if (bisection.exact()) {
    out << fmt::format("first bad {}: {}\n",
                       bisection.unit,
                       sanitize_utf8(bisection.line[bisection.first_bad].name));
  } else if (bisection.found() && bisection.complete) {
    write_range(bisection, out);
  }
  out << fmt::format("\n{} {}s from {} to {}",
                     bisection.line.size(),
                     bisection.unit,
                     sanitize_utf8(short_name(bisection, 0)),
                     sanitize_utf8(short_name(bisection, bisection.line.size() - 1)));
  out << (bisection.unit == "commit" ? fmt::format(", {} built:\n", bisection.builds) : ":\n");
  write_steps(bisection, out);
}

}  // namespace plumb::reporting
