// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/bisection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>

#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

analysis::Json step_json(const analysis::BisectionStep& step) {
  const analysis::MetricComparison& test = step.test;
  const bool compared = test.ratio.has_value();
  return {{"stack", step.stack},
          {"version", step.version},
          {"verdict", to_text(test.verdict)},
          {"reason", test.reason},
          {"baseline_seconds", compared ? analysis::Json(test.baseline) : analysis::Json()},
          {"candidate_seconds", compared ? analysis::Json(test.candidate) : analysis::Json()},
          {"ratio", compared ? analysis::Json(*test.ratio) : analysis::Json()},
          {"interval", compared ? analysis::Json{test.low, test.high} : analysis::Json()},
          {"q", test.q ? analysis::Json(*test.q) : analysis::Json()},
          {"pairs", step.pairs},
          {"baseline_variant", step.baseline_variant},
          {"candidate_variant", step.candidate_variant},
          {"baseline_run", step.baseline_run},
          {"run", step.run}};
}

void write_steps(const analysis::Bisection& bisection, std::ostream& out) {
  AlignedTable table({{"  stack"},
                      {"version"},
                      {"good", true},
                      {"this one", true},
                      {"change", true},
                      {"95 %", true},
                      {"pairs", true},
                      {"verdict"},
                      {"implementation"}});
  for (const analysis::BisectionStep& step : bisection.steps) {
    const analysis::MetricComparison& test = step.test;
    const bool compared = test.ratio.has_value();
    table.add({"  " + step.stack,
               step.version,
               compared ? time_text(Seconds(test.baseline)) : "–",
               compared ? time_text(Seconds(test.candidate)) : "–",
               compared ? fmt::format("{:+.1f} %", 100.0 * (*test.ratio - 1.0)) : "–",
               compared ? fmt::format("{:+.1f} % … {:+.1f} %",
                                      100.0 * (test.low - 1.0),
                                      100.0 * (test.high - 1.0))
                        : "–",
               std::to_string(step.pairs),
               std::string(to_text(test.verdict)) + (test.reason.empty() ? "" : ": " + test.reason),
               step.baseline_variant == step.candidate_variant
                   ? step.candidate_variant
                   : step.baseline_variant + " → " + step.candidate_variant});
  }
  table.write(out);
}

}  // namespace

void write_bisection(const analysis::Bisection& bisection, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    analysis::Json steps = analysis::Json::array();
    for (const analysis::BisectionStep& step : bisection.steps) {
      steps.push_back(step_json(step));
    }
    write_json(
        {{"schema_version", analysis::kJsonSchemaVersion},
         {"key", bisection.key},
         {"stacks", bisection.stacks},
         {"last_good", bisection.last_good},
         {"first_bad",
          bisection.first_bad.empty() ? analysis::Json() : analysis::Json(bisection.first_bad)},
         {"exact", bisection.exact},
         {"reason", bisection.reason},
         {"steps", steps}},
        out);
    return;
  }
  out << fmt::format("{}\n{}\n\nby version: {}\n",
                     sanitize_utf8(bisection.key),
                     sanitize_utf8(bisection.reason),
                     sanitize_utf8(fmt::format("{}", fmt::join(bisection.stacks, ", "))));
  write_steps(bisection, out);
}

}  // namespace plumb::reporting
