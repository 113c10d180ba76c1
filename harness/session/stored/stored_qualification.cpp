// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_qualification.hpp"

#include <algorithm>
#include <utility>

namespace plumb::session {

analysis::QualificationReport with_history(const store::Store& store,
                                           analysis::Qualification qualification) {
  analysis::QualificationReport report;
  for (const results::RunRecord& run : store.runs()) {
    for (const results::DerivedRecord& record :
         store.derived(run.header.id, kQualificationRecord)) {
      const analysis::Qualification past = analysis::qualification_from_json(record.payload);
      if (past.suite == qualification.suite && past.baseline.name == qualification.baseline.name &&
          past.candidate.name == qualification.candidate.name &&
          past.finished < qualification.finished) {
        report.history.push_back({past.candidate.run, past.finished, past.verdict, past.reason});
      }
    }
  }
  std::stable_sort(
      report.history.begin(), report.history.end(), [](const auto& one, const auto& other) {
        return one.finished > other.finished;
      });
  report.qualification = std::move(qualification);
  return report;
}

std::optional<analysis::QualificationReport> kept_qualification(const store::Store& store,
                                                                const std::string& baseline,
                                                                const std::string& candidate) {
  const results::RunId before = store.find_run(baseline).header.id;
  std::optional<analysis::Qualification> newest;
  for (const results::DerivedRecord& record :
       store.derived(store.find_run(candidate).header.id, kQualificationRecord)) {
    analysis::Qualification each = analysis::qualification_from_json(record.payload);
    if (each.baseline.run == before && (!newest || newest->finished <= each.finished)) {
      newest = std::move(each);
    }
  }
  return newest ? std::optional(with_history(store, std::move(*newest))) : std::nullopt;
}

}  // namespace plumb::session
