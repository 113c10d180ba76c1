// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "reporting/content/qualification/qualification_writers.hpp"
#include "reporting/document/csv_text.hpp"

namespace plumb::reporting {

void write_qualification_csv(const analysis::QualificationReport& report, std::ostream& out) {
  out << csv_row({"subject",
                  "mode",
                  "baseline_seconds",
                  "candidate_seconds",
                  "ratio",
                  "low",
                  "high",
                  "pairs",
                  "verdict",
                  "waived",
                  "baseline_variant",
                  "candidate_variant",
                  "reason",
                  "place"});
  const analysis::Qualification& q = report.qualification;
  for (const auto* metrics : {&q.models, &q.layers}) {
    for (const analysis::QualifiedMetric& metric : *metrics) {
      const analysis::MetricComparison& test = metric.test;
      const auto known = [&](double value) {
        return csv_number(test.ratio ? std::optional(value) : std::nullopt);
      };
      out << csv_row({metric.subject,
                      metric.mode,
                      known(test.baseline),
                      known(test.candidate),
                      csv_number(test.ratio),
                      known(test.low),
                      known(test.high),
                      std::to_string(metric.baseline_seconds.size()),
                      std::string(to_text(test.verdict)),
                      metric.waived_by,
                      metric.baseline_variant,
                      metric.candidate_variant,
                      test.reason,
                      metric.place});
    }
  }
}

}  // namespace plumb::reporting
