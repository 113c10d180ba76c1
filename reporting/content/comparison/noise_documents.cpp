// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/noise_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "harness/analysis/report/noise_json.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kShown = 30;

std::string percent(double share) {
  return share_text(share, 2);
}

void write_metrics(const std::vector<analysis::AaStudy::MetricNoise>& all, std::ostream& out) {
  std::vector<const analysis::AaStudy::MetricNoise*> noisiest;
  for (const analysis::AaStudy::MetricNoise& metric : all) {
    noisiest.push_back(&metric);
  }
  std::stable_sort(noisiest.begin(), noisiest.end(), [](const auto* one, const auto* other) {
    return one->process > other->process;
  });
  AlignedTable table({{"  median", true},
                      {"within", true},
                      {"between", true},
                      {"days", true},
                      {"one process", true},
                      {"floor", true},
                      {"lag 1", true},
                      {"drift", true},
                      {"pairs", true},
                      {"metric"}});
  for (std::size_t i = 0; i < std::min(kShown, noisiest.size()); ++i) {
    const analysis::AaStudy::MetricNoise& metric = *noisiest[i];
    table.add({time_text(Seconds(metric.median)),
               percent(metric.within),
               percent(metric.between),
               metric.daily ? percent(*metric.daily) : "–",
               percent(metric.process),
               percent(metric.floor),
               fmt::format("{:.2f}", metric.autocorrelation),
               fmt::format("{:.2f}", metric.drift),
               std::to_string(metric.pairs),
               metric.series});
  }
  table.write(out);
  if (noisiest.size() > kShown) {
    out << fmt::format("  and {} quieter metrics, all of them with --json\n",
                       noisiest.size() - kShown);
  }
}

void write_text(const analysis::NoiseReport& report, std::ostream& out) {
  const analysis::AaStudy& noise = report.noise;
  out << fmt::format("{} · stack {} against itself · runs {} and {} · {} stored calibration{}\n\n",
                     sanitize_utf8(report.suite),
                     sanitize_utf8(report.stack),
                     report.first,
                     report.second,
                     report.calibrations,
                     report.calibrations == 1 ? "" : "s");
  write_metrics(noise.metrics, out);
  out << fmt::format("\n{} comparisons of {} drawn pairs each, without a change\n",
                     noise.comparisons,
                     noise.pairs);
  for (const analysis::AaStudy::FalsePositiveRate& rate : noise.alarms) {
    out << fmt::format("  at {}: {} of tests alarm; a sound test is within {} … {}: {}\n",
                       percent(rate.alpha),
                       percent(rate.rate),
                       percent(rate.low),
                       percent(rate.high),
                       rate.in_band() ? "kept" : "NOT KEPT");
  }
  out << fmt::format("  {} of whole comparisons call a change\n", percent(noise.family_alarms));
  for (const analysis::AaStudy::PowerPoint& point : noise.power) {
    out << fmt::format("  a change of {} is found in {} (in the worst metric {})\n",
                       percent(point.change),
                       percent(point.found),
                       percent(point.least));
  }
}

}  // namespace

void write_noise(const analysis::NoiseReport& report, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kText) {
    write_text(report, out);
  } else {
    write_json(analysis::noise_document(report), out);
  }
}

}  // namespace plumb::reporting
