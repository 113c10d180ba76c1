// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_exclusions.hpp"

#include "harness/analysis/report/run_report.hpp"

namespace plumb {

std::vector<Exclusion> read_exclusions(const Store& store, const RunId& run) {
  const std::vector<DerivedRecord> records = store.derived(run, kExclusionsRecord);
  return records.empty() ? std::vector<Exclusion>() : exclusions_from_json(records.back().payload);
}

std::vector<Exclusion> holding_exclusions(const Store& store, const RunHeader& run) {
  std::vector<Exclusion> exclusions = read_exclusions(store, run.id);
  const std::string day = day_of(run);
  std::erase_if(exclusions, [&](const Exclusion& each) { return !each.holds_on(day); });
  return exclusions;
}

}  // namespace plumb
