// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_qualification.hpp"

#include <algorithm>
#include <utility>

namespace plumb {

QualificationReport with_history(const Store& store, Qualification qualification) {
  QualificationReport report;
  for (const RunRecord& run : store.runs()) {
    for (const DerivedRecord& record : store.derived(run.header.id, kQualificationRecord)) {
      const Qualification past = qualification_from_json(record.payload);
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

std::optional<QualificationReport> kept_qualification(const Store& store,
                                                      const std::string& baseline,
                                                      const std::string& candidate) {
  const RunId before = store.find_run(baseline).header.id;
  std::optional<Qualification> newest;
  for (const DerivedRecord& record :
       store.derived(store.find_run(candidate).header.id, kQualificationRecord)) {
    Qualification each = qualification_from_json(record.payload);
    if (each.baseline.run == before && (!newest || newest->finished <= each.finished)) {
      newest = std::move(each);
    }
  }
  return newest ? std::optional(with_history(store, std::move(*newest))) : std::nullopt;
}

}  // namespace plumb
