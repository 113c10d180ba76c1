// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_controls.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace plumb::session {
namespace {

/// Joins the records of one run.
analysis::HostControls join_records(std::span<const results::DerivedRecord> hosts,
                                    std::span<const results::DerivedRecord> controls) {
  analysis::HostControls joined;
  std::map<std::string, std::string> by_boot;  // of records that do not name their host
  for (const results::DerivedRecord& host : hosts) {
    joined[host.subject];
    // What was imported may be any JSON.
    const auto document = nlohmann::json::parse(host.payload, nullptr, false);
    if (document.is_object() && document.contains("boot") && document["boot"].is_string()) {
      by_boot[document["boot"].get<std::string>()] = host.subject;
    }
  }
  for (const results::DerivedRecord& record : controls) {
    results::Controls own = results::controls_from_json(record.payload);
    if (own.host.empty() && by_boot.contains(record.subject)) {
      own.host = by_boot.at(record.subject);
    }
    std::optional<results::Controls>& host = joined[own.host];
    host = host.value_or(own);
    for (const results::ControlTime& control : results::kControlTimes) {
      (*host).*control.time = std::min((*host).*control.time, own.*control.time);
    }
  }
  return joined;
}

}  // namespace

analysis::HostControls read_host_controls(const store::Store& store, const results::RunId& run) {
  return join_records(store.derived(run, results::kHostRecord),
                      store.derived(run, results::kControlsRecord));
}

std::vector<analysis::HostReading> read_host_readings(const store::Store& store,
                                                      std::span<const results::RunRecord> runs) {
  std::vector<results::RunId> ids;
  for (const results::RunRecord& run : runs) {
    ids.push_back(run.header.id);
  }
  using Records = std::map<results::RunId, std::vector<results::DerivedRecord>>;
  Records hosts;
  Records controls;
  for (const auto& [kind, records] :
       {std::pair(results::kHostRecord, &hosts), std::pair(results::kControlsRecord, &controls)}) {
    for (results::DerivedRecord& record : store.derived_of_runs(ids, kind)) {
      (*records)[record.run].push_back(std::move(record));
    }
  }
  std::vector<analysis::HostReading> readings;
  for (const results::RunRecord& run : runs) {
    const auto own = controls.find(run.header.id);
    if (own == controls.end()) {
      continue;
    }
    for (const auto& [name, host] : join_records(hosts[run.header.id], own->second)) {
      if (host && host->product > Seconds(0.0) && host->copy > Seconds(0.0)) {
        readings.push_back({analysis::control_class_of(run.header),
                            run.header.id,
                            run.header.started,
                            run.finished,
                            *host});
      }
    }
  }
  return readings;
}

}  // namespace plumb::session
