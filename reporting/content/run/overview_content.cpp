// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/analysis/limits/batch_curve.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/run_content.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

using analysis::Json;
using results::BoundKind;
using Values = std::vector<std::optional<double>>;  // by model

/// Time that the overview compares over the models.
struct Glance {
  const char* name = "";
  std::optional<BoundKind> kind = {};  ///< absent: measured end to end
  const char* mode = "";
};
constexpr std::array<Glance, 7> kGlances{{
    {"hardware bound", BoundKind::kHardware, "any"},
    {"library bound, fused, parallel branches", BoundKind::kLibraryParallel, "fusion"},
    {"library bound, fused", BoundKind::kLibrary, "fusion"},
    {"library bound, layer by layer", BoundKind::kLibrary, "plain"},
    {"predicted (estimate)", BoundKind::kPredicted, "plain"},
    {"sum of the layers alone (estimate)", BoundKind::kLayerSum, "plain"},
    {"measured end to end", std::nullopt, "plain"},
}};

std::optional<Seconds> time_of(const analysis::RunReport::Model& model, const Glance& glance) {
  return glance.kind ? complete_time(model.bounds, *glance.kind, glance.mode)
                     : measured_time(model);
}

/// Returns values of the models as a part of a chart, each with its text. Unknown ones are null.
Json series_json(const std::string& label, const Values& values, std::string (*text)(double)) {
  Json numbers = Json::array();
  Json texts = Json::array();
  for (const std::optional<double>& value : values) {
    numbers.push_back(analysis::number_or_null(value));
    texts.push_back(value ? fmt::format("{}: {}", label, text(*value)) : "");
  }
  return {{"label", label}, {"values", std::move(numbers)}, {"texts", std::move(texts)}};
}

Json titles_of(const analysis::RunReport& report) {
  Json titles = Json::array();
  for (const analysis::RunReport::Model& model : report.models) {
    titles.push_back(title_of(model));
  }
  return titles;
}

void add_glances_chart(const analysis::RunReport& report, Page& page) {
  Json series = Json::array();
  std::vector<Values> times(report.models.size());  // milliseconds, by glance
  for (const Glance& glance : kGlances) {
    Values values;
    for (std::size_t i = 0; i < report.models.size(); ++i) {
      const std::optional<Seconds> time = time_of(report.models[i], glance);
      values.push_back(time && *time > Seconds{} ? std::optional(1e3 * time->count())
                                                 : std::nullopt);
      if (values.back()) {
        times[i].push_back(values.back());
      }
    }
    series.push_back(series_json(glance.name, values, [](double milliseconds) {
      return time_text(Seconds(milliseconds / 1e3));
    }));
  }
  if (std::all_of(times.begin(), times.end(), [](const Values& known) { return known.empty(); })) {
    return;
  }
  Json lines = Json::array();
  for (const Values& known : times) {
    const auto [low, high] = std::minmax_element(known.begin(), known.end());
    lines.push_back(known.empty() ? Json() : Json{**low, **high});
  }
  page.chart("Bounds and measured time of every model, as points in milliseconds, logarithmic",
             130 + 44 * static_cast<int>(report.models.size()),
             "glances",
             {{"titles", titles_of(report)}, {"lines", lines}, {"series", series}});
}

void add_glances(const analysis::RunReport& report, Page& page) {
  PageTable table{.head = head_row("model|layers measured"), .whole = true};
  table.caption =
      "An incomplete bound is the sum of the layers that have a time. ÷ hardware is the fused "
      "library bound over the hardware bound.";
  for (const Glance& glance : kGlances) {
    table.head << number_cell(glance.name);
  }
  table.head << number_cell("÷ hardware");
  for (const analysis::RunReport::Model& model : report.models) {
    PageRow& row = table.row() << title_of(model) << completeness_text(model);
    for (const Glance& glance : kGlances) {
      const analysis::Bound* const bound =
          glance.kind ? find_bound(model.bounds, *glance.kind, glance.mode) : nullptr;
      row << (bound == nullptr ? time_of(model, glance) : analysis::known_time(*bound));
      row.back().text +=
          bound != nullptr && !bound->complete && row.back().quantity ? " (incomplete)" : "";
    }
    const auto hardware = time_of(model, kGlances[0]);
    const auto library = time_of(model, kGlances[2]);
    row << ratio_cell(hardware && library && *hardware > Seconds{}
                          ? std::optional(*library / *hardware)
                          : std::nullopt);
  }
  page.table(table);
}

void add_scenarios(const analysis::RunReport& report, Page& page) {
  PageTable table{
      .head = head_row("model|scenario|mode|verdict|score|#median|*#90 %|#99 %|#queries|*batches")};
  const auto whole = [](double count) { return fmt::format("{:.0f}", count); };
  table.caption =
      "Latencies of queries. An INVALID load misses a duration, count, latency or confidence. Its "
      "findings show which, and by how much.";
  for (const analysis::RunReport::Model& model : report.models) {
    for (const results::ScenarioResult& load : model.bounds.loads) {
      std::vector<std::string> buckets;
      for (const loadgen::BatchExecutor::BucketUse& use : load.buckets) {
        buckets.push_back(fmt::format("{} of {}", use.batches, use.bucket));
      }
      std::optional<double> queries;
      if (load.result) {
        queries = static_cast<double>(load.result->queries_completed);
      }
      table.row() << title_of(model) << to_text(load.scenario) << load.mode << verdict_text(load)
                  << score_text(load) << results::latency_at(load, 50.0)
                  << results::latency_at(load, 90.0) << results::latency_at(load, 99.0)
                  << quantity_cell(queries, whole) << fmt::format("{}", fmt::join(buckets, ", "));
    }
  }
  if (!table.rows.empty()) {
    page.heading("MLPerf scenarios");
    page.paragraph(std::string(loadgen::kMlperfUnverified) +
                   " A sample is one input of the model at its batch. Copies into the model's "
                   "buffers are counted.");
    page.table(table);
  }
}

/// Returns the share of each model's partition that each operator takes, the largest first. The
/// last one is all operators beyond kMostOperators. A fused step counts as its first operator.
std::vector<ModelParts> operator_parts(const std::vector<analysis::RunReport::Model>& models) {
  constexpr std::size_t kMostOperators = 9;
  std::map<std::string, std::vector<double>> operators;
  std::vector<double> totals(models.size());
  for (std::size_t model = 0; model < models.size(); ++model) {
    for (const analysis::PartitionStep& step : models[model].bounds.cover) {
      if (step.time) {
        const std::string& op = models[model].graph.layers[step.layers.front()].onnx_op;
        const double seconds = step.time->time.median.count();
        operators.try_emplace(op, models.size()).first->second[model] += seconds;
        totals[model] += seconds;
      }
    }
  }
  std::vector<ModelParts> parts;
  for (const auto& [op, seconds] : operators) {
    Values& shares = parts.emplace_back(ModelParts{op, Values(models.size())}).shares;
    for (std::size_t model = 0; model < models.size(); ++model) {
      if (totals[model] > 0.0) {
        shares[model] = seconds[model] / totals[model];
      }
    }
  }
  std::stable_sort(parts.begin(), parts.end(), [](const ModelParts& one, const ModelParts& other) {
    return *std::max_element(one.shares.begin(), one.shares.end()) >
           *std::max_element(other.shares.begin(), other.shares.end());
  });
  for (; parts.size() > kMostOperators + 1; parts.pop_back()) {
    ModelParts& others = parts[kMostOperators];
    others.name = "others";
    for (std::size_t model = 0; model < models.size(); ++model) {
      if (totals[model] > 0.0) {
        *others.shares[model] += *parts.back().shares[model];
      }
    }
  }
  return parts;
}

void add_batch_curve(const analysis::BatchCurve& curve, Page& page) {
  const std::string name = fmt::format("{} {}, {}", curve.model, curve.dtype, curve.mode);
  Json points = Json::array();
  PageTable table{.head = head_row("#batch|#latency|#95% interval|#inputs/s")};
  table.caption = name + (curve.knee ? fmt::format(": the knee is at batch {}", *curve.knee)
                                     : ": no knee up to the largest batch");
  for (const analysis::BatchCurve::Point& point : curve.points) {
    points.push_back({{"batch", point.batch},
                      {"milliseconds", 1e3 * point.seconds.count()},
                      {"rate", point.throughput()},
                      {"knee", point.batch == curve.knee}});
    table.row() << count_cell(static_cast<double>(point.batch)) << point.seconds
                << interval_cell(point.interval) << count_cell(point.throughput());
  }
  page.chart("Latency and throughput of " + name + " against its batch", 240, "batches", points);
  page.table(table);
}

}  // namespace

void add_parts(const analysis::RunReport& report,
               const std::string& label,
               const std::string& whole,
               const std::vector<ModelParts>& parts,
               Page& page) {
  Json series = Json::array();
  for (ModelParts part : parts) {
    for (std::optional<double>& share : part.shares) {
      share = share ? std::optional(100.0 * *share) : std::nullopt;
    }
    series.push_back(series_json(
        part.name, part.shares, [](double share) { return fmt::format("{:.1f} %", share); }));
  }
  page.chart(label,
             110 + 34 * static_cast<int>(report.models.size()),
             "parts",
             {{"titles", titles_of(report)}, {"whole", whole}, {"series", series}});
}

void add_batches(const analysis::RunReport& report, Page& page) {
  const std::vector<analysis::ModelBounds> bounds = analysis::all_bounds(report);
  const std::vector<analysis::BatchCurve> curves = analysis::compute_batch_curves(bounds);
  if (!curves.empty()) {
    page.heading("Batches");
    page.paragraph(
        "The knee is the smallest batch with 90 % of the highest throughput. A larger one costs "
        "latency and brings little.");
  }
  for (const analysis::BatchCurve& curve : curves) {
    add_batch_curve(curve, page);
  }
  PageTable table{.head = head_row("model|type|#graphs|#memory|#saved")};
  table.caption =
      "Captured graphs: one for each shape that was executed both captured and eager. Saved: one "
      "execution of each.";
  for (const analysis::CapturedGraphs& sum : analysis::sum_captured_graphs(bounds)) {
    table.row() << sum.model << sum.dtype << count_cell(static_cast<double>(sum.graphs))
                << bytes_cell(sum.memory) << sum.saved;
  }
  add_rows(table, page);
}

void add_overview(const analysis::RunReport& report, Page& page) {
  if (report.models.empty()) {
    return;
  }
  const bool all = page.extent() == Extent::kPage;
  if (all) {
    page.heading("Models against their bounds");
    page.paragraph(
        "No execution beats the hardware bound. No execution with this library's own kernels beats "
        "the library bound. Each model is a line from its lowest bound to its measured time, and "
        "equal distances are equal ratios. Blue points near the grey one show good kernels. Blue "
        "points near each other show that fusion and parallel branches can save little.");
    add_glances_chart(report, page);
  }
  if (all || page.extent() == Extent::kComment) {
    add_glances(report, page);
  }
  add_scenarios(report, page);
  if (all) {
    page.heading("Time by operator");
    page.paragraph("Shares of the fused library bound: a fused step counts as its first operator.");
    add_parts(report,
              "Share of time by operator for every model",
              "% of the bound",
              operator_parts(report.models),
              page);
  }
  if (page.extent() >= Extent::kText) {
    add_roofline(report, page);
    add_batches(report, page);
  }
}

}  // namespace plumb::reporting
