// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/control_history.hpp"

#include <utility>

#include "reporting/prometheus/metric_families.hpp"

namespace plumb::serve {

void ControlHistory::read(const store::Store& store, std::span<const results::RunRecord> runs) {
  std::vector<results::RunRecord> unknown;
  std::map<results::RunId, std::vector<analysis::HostReading>> kept;
  for (const results::RunRecord& run : runs) {
    if (run.state != results::RunState::kFinished) {
      continue;
    }
    const auto found = readings_.find(run.header.id);
    if (found == readings_.end()) {
      unknown.push_back(run);
    }
    kept[run.header.id] =
        found == readings_.end() ? std::vector<analysis::HostReading>{} : found->second;
  }
  for (analysis::HostReading& reading : session::read_host_readings(store, unknown)) {
    kept[reading.run].push_back(std::move(reading));
  }
  readings_ = std::move(kept);
  newest_first_.clear();
  for (const results::RunRecord& run : runs) {
    if (const auto found = readings_.find(run.header.id); found != readings_.end()) {
      newest_first_.insert(newest_first_.end(), found->second.begin(), found->second.end());
    }
  }
  classes_ = analysis::compute_class_controls(newest_first_);
}

std::string ControlHistory::drift(const results::RunId& run) const {
  for (const analysis::HostReading& reading : readings_.at(run)) {
    if (std::string why = analysis::find_class_drift(reading, classes_); !why.empty()) {
      return why;
    }
  }
  return {};
}

std::vector<reporting::HostMetrics> ControlHistory::hosts(
    std::span<const results::RunRecord> runs) const {
  std::map<results::RunId, const results::RunRecord*> by_id;
  for (const results::RunRecord& run : runs) {
    by_id[run.header.id] = &run;
  }
  std::vector<reporting::HostMetrics> hosts;
  for (analysis::HostHealth& health : analysis::compute_host_health(newest_first_, classes_)) {
    const results::RunHeader& run = by_id.at(health.newest.run)->header;
    hosts.push_back(
        {std::move(health), reporting::device_name(run.environment), run.suite, run.stack});
  }
  return hosts;
}

}  // namespace plumb::serve
