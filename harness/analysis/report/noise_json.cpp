// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/noise_json.hpp"

namespace plumb::analysis {

Json noise_document(const NoiseReport& report) {
  const AaStudy& noise = report.noise;
  Json metrics = Json::array();
  for (const AaStudy::MetricNoise& metric : noise.metrics) {
    metrics.push_back({{"series", metric.series},
                       {"kind", to_text(metric.kind)},
                       {"pairs", metric.pairs},
                       {"days", metric.days},
                       {"median_seconds", metric.median},
                       {"within", metric.within},
                       {"between", metric.between},
                       {"daily", number_or_null(metric.daily)},
                       {"process", metric.process},
                       {"autocorrelation", metric.autocorrelation},
                       {"drift", metric.drift},
                       {"floor", metric.floor}});
  }
  Json alarms = Json::array();
  for (const AaStudy::FalsePositiveRate& rate : noise.alarms) {
    alarms.push_back({{"alpha", rate.alpha},
                      {"rate", rate.rate},
                      {"band", {rate.low, rate.high}},
                      {"in_band", rate.in_band()}});
  }
  Json power = Json::array();
  for (const AaStudy::PowerPoint& point : noise.power) {
    power.push_back({{"change", point.change}, {"found", point.found}, {"least", point.least}});
  }
  return {{"schema_version", kJsonSchemaVersion},
          {"suite", report.suite},
          {"stack", report.stack},
          {"environment", report.environment},
          {"run", report.first},
          {"second_run", report.second},
          {"calibrations", report.calibrations},
          {"comparisons", noise.comparisons},
          {"pairs", noise.pairs},
          {"metrics", std::move(metrics)},
          {"alarms", std::move(alarms)},
          {"family_alarms", noise.family_alarms},
          {"power", std::move(power)}};
}

}  // namespace plumb::analysis
