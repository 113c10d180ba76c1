// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/session/stored/stored_controls.hpp"
#include "reporting/prometheus/host_metrics.hpp"

namespace plumb::serve {

/// History of the controls that a store's runs measured. A finished run never changes, so each is
/// read once and remembered while it is needed. For one thread.
class ControlHistory {
 public:
  /// Takes the controls of these runs, which are newest first. Those that are not finished are left
  /// out. Throws what the store throws.
  void read(const store::Store& store, std::span<const results::RunRecord> runs);

  /// Returns why a run's host left its class; empty: it did not. Only for runs that were read.
  [[nodiscard]] std::string drift(const results::RunId& run) const;
  /// Returns the health of each host, in order of class and name. `runs` are those that were read.
  [[nodiscard]] std::vector<reporting::HostMetrics> hosts(
      std::span<const results::RunRecord> runs) const;

 private:
  /// Of each run; empty: it measured none.
  std::map<results::RunId, std::vector<analysis::HostReading>> readings_;
  std::vector<analysis::HostReading> newest_first_;
  analysis::ClassControls classes_;
};

}  // namespace plumb::serve
