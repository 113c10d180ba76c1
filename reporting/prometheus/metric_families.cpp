// SPDX-License-Identifier: Apache-2.0
#include "reporting/prometheus/metric_families.hpp"

#include <set>

#include "harness/results/environment.hpp"
#include "reporting/prometheus/label_text.hpp"
#include "reporting/prometheus/model_metrics.hpp"
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

}  // namespace plumb::reporting
