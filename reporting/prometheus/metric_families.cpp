// SPDX-License-Identifier: Apache-2.0
#include "reporting/prometheus/metric_families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/run.hpp"
#include "reporting/prometheus/suite_metrics.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kDeviceBytes = 64;

void give(GaugeFamily& family, const FamilySink& sink) {
  if (!family.family().metric.empty()) {
    sink(std::move(family.family()));
  }
}

prometheus::MetricFamily single(std::string_view name, std::string_view help, double value) {
  GaugeFamily family(name, help);
  family.add({}, {}, value);
  return std::move(family.family());
}

/// Leaves out series that no label tells apart. Two metrics with the same labels would spoil the
/// whole scrape.
std::vector<const SuiteMetrics*> with_distinct_labels(std::span<const SuiteMetrics> suites) {
  std::set<MetricLabels> seen;
  std::vector<const SuiteMetrics*> distinct;
  for (const SuiteMetrics& suite : suites) {
    if (seen.insert(suite_labels(suite)).second) {
      distinct.push_back(&suite);
    }
  }
  return distinct;
}

}  // namespace

std::string device_name(const results::Environment& environment) {
  const std::string model = results::device_model(environment);
  return model.empty() ? "unknown"
                       : label_text(model.substr(0, model.find(", family ")), kDeviceBytes);
}

void metric_families(std::span<const SuiteMetrics> suites, const FamilySink& sink) {
  const std::vector<ModelMetrics> models = list_model_metrics(suites);
  for (const auto table : {model_metric_table(), load_metric_table()}) {
    for (const MetricRow<ModelMetrics>& row : table) {
      GaugeFamily family(row.name, row.help);
      for (const ModelMetrics& model : models) {
        row.add(model, family);
      }
      give(family, sink);
    }
  }
  const std::vector<const SuiteMetrics*> distinct = with_distinct_labels(suites);
  for (const auto table : {suite_metric_table(), device_metric_table()}) {
    for (const MetricRow<SuiteMetrics>& row : table) {
      GaugeFamily family(row.name, row.help);
      for (const SuiteMetrics* suite : distinct) {
        row.add(*suite, family);
      }
      give(family, sink);
    }
  }
  for (GaugeFamily family : {environment_info(suites), stack_info(suites)}) {
    give(family, sink);
  }
}

prometheus::MetricFamily build_info(const std::string& version) {
  GaugeFamily build("plumb_build_info", "Names the version of plumb that made these metrics.");
  build.add({}, {{"version", label_text(version)}}, 1.0);
  return std::move(build.family());
}

std::vector<prometheus::MetricFamily> health_families(const StoreHealth& health) {
  std::vector<prometheus::MetricFamily> families;
  const auto add = [&](std::string_view name, std::string_view help, double value) {
    families.push_back(single(name, help, value));
  };
  families.push_back(build_info(health.version));
  add("plumb_store_up", "Whether the store could be read (1) or not (0).", health.up ? 1.0 : 0.0);
  if (health.last_success) {
    add("plumb_store_last_success_timestamp_seconds",
        "When the store was last read.",
        unix_seconds(*health.last_success));
  }
  if (health.rebuild) {
    add("plumb_store_rebuild_seconds",
        "How long the last reading of a changed store took.",
        health.rebuild->count());
  }
  add("plumb_store_series",
      "Metrics about runs and models served.",
      static_cast<double>(health.series));
  add("plumb_store_runs", "Runs in the store.", static_cast<double>(health.runs));
  add("plumb_store_unreadable_runs",
      "Runs that could not be analysed.",
      static_cast<double>(health.unreadable_runs));
  return families;
}

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
  const analysis::HostHealth::Reading& newest = host.health.newest;
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

namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      result += '\\';
    }
    result += c == '\n' ? "\\n" : std::string(1, c);
  }
  return result;
}

std::string labels_text(const MetricLabels& common, const MetricLabels& own) {
  std::string text;
  for (const MetricLabels* labels : {&common, &own}) {
    for (const auto& label : *labels) {
      text +=
          fmt::format("{}{}=\"{}\"", text.empty() ? "{" : ",", label.name, escaped(label.value));
    }
  }
  return text.empty() ? text : text + "}";
}

void refuse_double(const MetricLabels& common, const std::string& name, const MetricLabels& own) {
  for (const auto& label : own) {
    if (std::any_of(common.begin(), common.end(), [&](const auto& each) {
          return each.name == label.name;
        })) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "{} already has a label '{}': give a label with another name", name, label.name));
    }
  }
}

}  // namespace

void OpenMetricsHistory::add(std::span<const SuiteMetrics> suites,
                             Timestamp from,
                             Timestamp until) {
  metric_families(suites, [&](prometheus::MetricFamily&& family) { add(family, from, until); });
}

void OpenMetricsHistory::add(std::span<const HostMetrics> hosts, Timestamp from, Timestamp until) {
  for (const prometheus::MetricFamily& family : host_families(hosts)) {
    add(family, from, until);
  }
}

void OpenMetricsHistory::add(const prometheus::MetricFamily& given,
                             Timestamp from,
                             Timestamp until) {
  const auto [place, added] = families_.try_emplace(given.name);
  Family& family = place->second;
  if (added) {
    order_.push_back(given.name);
    family.help = given.help;
  }
  for (const prometheus::ClientMetric& metric : given.metric) {
    refuse_double(common_, given.name, metric.label);
    family.series[labels_text(common_, metric.label)].push_back({from, until, metric.gauge.value});
  }
}

std::size_t OpenMetricsHistory::write(std::ostream& out,
                                      std::optional<std::chrono::microseconds> step) {
  std::size_t samples = 0;
  for (const std::string& name : order_) {
    Family& family = families_.at(name);
    out << fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, family.help, name);
    for (auto& [labels, points] : family.series) {
      std::stable_sort(points.begin(), points.end(), [](const Point& one, const Point& other) {
        return one.from < other.from;
      });
      for (std::size_t i = 0; i < points.size(); ++i) {
        const Point& point = points[i];
        if (i + 1 < points.size() && points[i + 1].from == point.from) {
          continue;  // Two runs ended at one moment: a series has one value at a time.
        }
        Timestamp end = std::max(point.until, point.from + std::chrono::microseconds(1));
        if (i + 1 < points.size()) {
          end = std::min(end, points[i + 1].from);
        }
        Timestamp at = point.from;
        do {
          out << fmt::format("{}{} {} {:.3f}\n", name, labels, point.value, unix_seconds(at));
          ++samples;
        } while (step && (at += *step) < end);
      }
    }
  }
  out << "# EOF\n";
  return samples;
}

}  // namespace plumb::reporting
