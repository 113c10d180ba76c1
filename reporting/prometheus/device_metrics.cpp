// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>

#include "reporting/prometheus/label_text.hpp"
#include "reporting/prometheus/suite_metrics.hpp"

namespace plumb::reporting {
namespace {

constexpr const char* kThrottled = "throttled_ratio";  // 0 where the device was asked and was not
constexpr std::string_view kReasonBegin = "throttled.";
constexpr std::string_view kReasonEnd = "_ratio";

/// Returns a reading of the newest run; null: the run has none of that name.
const results::Reading* find_reading(const SuiteMetrics& suite, const char* name) {
  if (!suite.newest) {
    return nullptr;
  }
  const auto found = suite.newest->readings.find(name);
  return found == suite.newest->readings.end() ? nullptr : &found->second;
}

void add_reading(const SuiteMetrics& suite, const char* name, GaugeFamily& family) {
  if (const results::Reading* const reading = find_reading(suite, name)) {
    const MetricLabels labels = suite_labels(suite);
    family.add(labels, {{"stat", "mean"}}, reading->median);
    family.add(labels, {{"stat", "low"}}, reading->low);
    family.add(labels, {{"stat", "high"}}, reading->high);
  }
}

void add_throttled(const SuiteMetrics& suite, GaugeFamily& family) {
  if (const results::Reading* const share = find_reading(suite, kThrottled)) {
    family.add(suite_labels(suite), {}, share->high > 0.0 ? 1.0 : 0.0);
  }
}

/// Adds the share of all samples that saw each reason. A row has a reading of a reason only if one
/// of its own samples saw it.
void add_reasons(const SuiteMetrics& suite, GaugeFamily& family) {
  const results::Reading* const all = find_reading(suite, kThrottled);
  if (all == nullptr || all->n <= 0) {
    return;
  }
  const MetricLabels labels = suite_labels(suite);
  for (const auto& [name, reading] : suite.newest->readings) {
    if (name.starts_with(kReasonBegin) && name.ends_with(kReasonEnd) &&
        name.size() > kReasonBegin.size() + kReasonEnd.size()) {
      const std::string reason =
          name.substr(kReasonBegin.size(), name.size() - kReasonBegin.size() - kReasonEnd.size());
      family.add(labels,
                 {{"reason", label_text(reason)}},
                 reading.median * static_cast<double>(reading.n) / static_cast<double>(all->n));
    }
  }
}

void add_temperature(const SuiteMetrics& suite, GaugeFamily& family) {
  add_reading(suite, "temperature_celsius", family);
}

void add_sm_clock(const SuiteMetrics& suite, GaugeFamily& family) {
  add_reading(suite, "sm_clock_hertz", family);
}

void add_memory_clock(const SuiteMetrics& suite, GaugeFamily& family) {
  add_reading(suite, "memory_clock_hertz", family);
}

void add_power(const SuiteMetrics& suite, GaugeFamily& family) {
  add_reading(suite, "power_watts", family);
}

constexpr std::array<MetricRow<SuiteMetrics>, 6> kDeviceTable{{
    {"plumb_run_throttled",
     "Whether the device lowered its clocks while it was measured (1) or not (0).",
     add_throttled},
    {"plumb_run_throttled_ratio",
     "Share of the samples that saw a reason for a lower clock.",
     add_reasons},
    {"plumb_run_temperature_celsius",
     "Temperature of the device while it was measured.",
     add_temperature},
    {"plumb_run_sm_clock_hertz", "Clock of the GPU's cores while it was measured.", add_sm_clock},
    {"plumb_run_memory_clock_hertz",
     "Clock of the GPU's memory while it was measured.",
     add_memory_clock},
    {"plumb_run_power_watts", "Power of the device while it was measured.", add_power},
}};

}  // namespace

std::span<const MetricRow<SuiteMetrics>> device_metric_table() {
  return kDeviceTable;
}

}  // namespace plumb::reporting
