// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/session/stored/stored_noise.hpp"
#include "harness/session/work/session_context.hpp"
#include "reporting/content/store/dashboard.hpp"
#include "reporting/prometheus/metric_families.hpp"

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

/// History of a store's runs, as the present state of each series. A finished run never changes, so
/// each is analysed once and remembered while it is needed. For one thread.
class RunHistory {
 public:
  /// Number of comparable runs that regressions look back over, the newest included.
  static constexpr std::size_t kRunsLookedAt = 10;

  explicit RunHistory(std::size_t slowest_layers) : slowest_layers_(slowest_layers) {}

  /// Returns the state after `runs`, which are newest first as Store::runs() gives them. Runs that
  /// were measured in pairs belong to their comparison, and are left out. The
  /// baseline of a series is the newest comparable run of its suite tagged `baseline/SUITE`, else
  /// `baseline`. A run that cannot be analysed any more (its models changed) has its row counts
  /// only. A run whose host left its class (run_series.hpp) is not compared: its times are
  /// inconclusive. Throws what the store throws.
  [[nodiscard]] std::vector<reporting::SuiteMetrics> suites(
      const session::Archive& archive, std::span<const results::RunRecord> runs);

  /// Returns the health of the hosts of the runs that suites() took last.
  [[nodiscard]] const std::vector<reporting::HostMetrics>& hosts() const { return hosts_; }

  /// Returns how many of the runs looked at last could not be analysed.
  [[nodiscard]] std::size_t unreadable() const;

 private:
  struct Entry {
    std::shared_ptr<const reporting::RunMetrics> metrics;
    bool readable = false;
    bool used = false;  ///< by the call of suites() in progress
  };
  [[nodiscard]] std::shared_ptr<const reporting::RunMetrics> analysed(
      const session::Archive& archive, const results::RunId& run);
  void judge(const session::Archive& archive,
             std::span<const results::RunRecord* const> newest_first,
             reporting::SuiteMetrics& suite);

  std::size_t slowest_layers_;
  std::map<results::RunId, Entry> analysed_;
  ControlHistory controls_;
  std::vector<reporting::HostMetrics> hosts_;
};

/// Makes a dashboard of the runs that started within `max_age` before `now`; absent: of all runs.
/// Each is analysed once. Throws what the store throws.
[[nodiscard]] reporting::Dashboard make_dashboard(const session::Archive& archive,
                                                  Timestamp now,
                                                  std::optional<Seconds> max_age);

}  // namespace plumb::serve
