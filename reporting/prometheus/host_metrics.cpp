// SPDX-License-Identifier: Apache-2.0
#include "reporting/prometheus/host_metrics.hpp"

#include <array>
#include <set>
#include <utility>

#include "reporting/prometheus/label_text.hpp"

namespace plumb::reporting {
namespace {

struct Control {
  const char* name;
  Seconds results::Controls::*time;
};
// The control "floor" takes some tens of nanoseconds, of which its own noise is a large part.
constexpr std::array<Control, 2> kControls{
    {{"product", &results::Controls::product}, {"copy", &results::Controls::copy}}};

MetricLabels host_labels(const HostMetrics& host) {
  MetricLabels labels;
  labels.reserve(7);
  add_label(labels, "host", label_text(host.health.newest.controls.host));
  add_label(labels, "backend", label_text(host.health.newest.of.backend));
  add_label(labels, "device", host.device);
  add_label(labels, "threads", label_text(host.health.newest.of.threads));
  add_label(labels, "system", host.health.newest.of.system);
  return labels;
}

void add_timestamp(const HostMetrics& host, GaugeFamily& family) {
  const analysis::HostReading& newest = host.health.newest;
  family.add(host_labels(host), {{"event", "started"}}, unix_seconds(newest.started));
  if (newest.finished) {
    family.add(host_labels(host), {{"event", "finished"}}, unix_seconds(*newest.finished));
  }
}

void add_controls(const HostMetrics& host, GaugeFamily& family) {
  for (const Control& control : kControls) {
    family.add(host_labels(host),
               {{"control", control.name}},
               (host.health.newest.controls.*control.time).count());
  }
}

void add_ratios(const HostMetrics& host, GaugeFamily& family) {
  if (host.health.of_class) {
    for (const Control& control : kControls) {
      family.add(
          host_labels(host),
          {{"control", control.name}},
          host.health.newest.controls.*control.time / ((*host.health.of_class).*control.time));
    }
  }
}

void add_noise(const HostMetrics& host, GaugeFamily& family) {
  if (host.health.noise) {
    family.add(host_labels(host), {}, *host.health.noise);
  }
}

void add_drifted(const HostMetrics& host, GaugeFamily& family) {
  if (host.health.of_class) {
    family.add(host_labels(host), {}, host.health.drift.empty() ? 0.0 : 1.0);
  }
}

constexpr std::array<MetricRow<HostMetrics>, 5> kTable{{
    {"plumb_host_run_timestamp_seconds",
     "When the newest finished run of a host started and finished.",
     add_timestamp},
    {"plumb_host_control_seconds", "Time of a control on a host.", add_controls},
    {"plumb_host_control_ratio", "Time of a control relative to the host's class.", add_ratios},
    {"plumb_host_noise_ratio",
     "Standard deviation of the control product over a host's newest runs.",
     add_noise},
    {"plumb_host_drifted",
     "Whether a host's controls left their class (1) or not (0).",
     add_drifted},
}};

}  // namespace

std::vector<prometheus::MetricFamily> host_families(std::span<const HostMetrics> hosts) {
  // Two metrics with the same labels would spoil the whole scrape.
  std::set<MetricLabels> seen;
  std::vector<const HostMetrics*> distinct;
  for (const HostMetrics& host : hosts) {
    if (seen.insert(host_labels(host)).second) {
      distinct.push_back(&host);
    }
  }
  std::vector<prometheus::MetricFamily> families;
  for (const MetricRow<HostMetrics>& row : kTable) {
    GaugeFamily family(row.name, row.help);
    for (const HostMetrics* const host : distinct) {
      row.add(*host, family);
    }
    if (!family.family().metric.empty()) {
      families.push_back(std::move(family.family()));
    }
  }
  return families;
}

}  // namespace plumb::reporting
