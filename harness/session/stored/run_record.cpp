// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/run_record.hpp"

#include <spdlog/spdlog.h>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/report/run_report.hpp"

namespace plumb::session {

void put_run_record(store::Store& store,
                    const results::RunId& run,
                    const std::string& kind,
                    const std::string& subject,
                    const std::string& payload) {
  const std::pair<std::string, std::string> record(subject, payload);
  put_run_records(store, run, kind, {&record, 1});
}

void put_run_records(store::Store& store,
                     const results::RunId& run,
                     const std::string& kind,
                     std::span<const std::pair<std::string, std::string>> records) {
  std::vector<results::DerivedRecord> all;
  all.reserve(records.size());
  for (const auto& [subject, payload] : records) {
    all.push_back({.run = run,
                   .kind = kind,
                   .subject = subject,
                   .analysis_version = std::string(analysis::kAnalysisVersion),
                   .inputs = {},
                   .payload = payload,
                   .computed = current_time()});
  }
  try {
    store.put_derived(all);
  } catch (const store::StaleClaim& stale) {
    spdlog::warn("{}", stale.what());
  }
}

std::vector<results::Exclusion> read_exclusions(const store::Store& store,
                                                const results::RunId& run) {
  const std::vector<results::DerivedRecord> records =
      store.derived(run, results::kExclusionsRecord);
  return records.empty() ? std::vector<results::Exclusion>()
                         : results::exclusions_from_json(records.back().payload);
}

std::vector<results::Exclusion> holding_exclusions(const store::Store& store,
                                                   const results::RunHeader& run) {
  std::vector<results::Exclusion> exclusions = read_exclusions(store, run.id);
  const std::string day = analysis::day_of(run);
  std::erase_if(exclusions, [&](const results::Exclusion& each) { return !each.holds_on(day); });
  return exclusions;
}

}  // namespace plumb::session
