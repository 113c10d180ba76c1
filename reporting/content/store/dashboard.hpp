// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/results/labels/run_labels.hpp"
#include "reporting/prometheus/metric_families.hpp"

namespace plumb::reporting {

/// History of a store's runs: what Grafana shows of them, for users who have only the store.
struct Dashboard {
  std::vector<SuiteMetrics> present;  ///< of every series of runs
  std::vector<SuiteMetrics> points;   ///< a series after each of its finished runs, oldest first
  Timestamp now{};                    ///< injected: ages are relative to it
  std::string version;                ///< of plumb
  results::CommitLink commits = {};   ///< addresses of what the labels name
};

/// Writes one page that opens offline. It shows how far each model is from its bound, now and in
/// every run. It also shows what changed against the baseline, latencies over time, and the state
/// of every suite.
void write_dashboard(const Dashboard& dashboard, std::ostream& out);

}  // namespace plumb::reporting
