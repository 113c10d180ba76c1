// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/report/json_document.hpp"
#include "reporting/content/run/run_content.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

using analysis::Json;

/// Work in a time, as a point under a roofline.
struct RooflinePoint {
  std::string name;
  double operations = 0.0;
  double bytes = 0.0;
  std::optional<Seconds> time = {};

  [[nodiscard]] bool known() const {
    return operations > 0.0 && bytes > 0.0 && time && *time > Seconds{};
  }
  [[nodiscard]] double intensity() const { return operations / bytes; }
  [[nodiscard]] Json json() const {
    const double rate = operations / time->count();
    return {{"x", intensity()},
            {"y", rate / 1e9},
            {"text", fmt::format("{}: {}FLOP/s, {}", name, count_text(rate), time_text(*time))}};
  }
};

RooflinePoint point_of(const analysis::ModelReport& model, const analysis::PartitionStep& step) {
  RooflinePoint point{title_of(model) + ", " + analysis::name_of(model.graph, step.layers)};
  for (const model::LayerId layer : step.layers) {
    point.operations += model.graph.layers[layer].cost.flops.value;
  }
  if (step.time && !step.key.text.empty()) {
    const model::LayerCost cost = model::compute_cost(model::parse_key(step.key));
    const Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
    point.bytes = static_cast<double>(bytes.value);
    point.time = step.time->time.median;
  }
  return point;
}

/// Returns a model as a whole: its operations against the bytes that no execution avoids, in its
/// time now.
RooflinePoint whole_of(const analysis::ModelReport& model) {
  const std::optional<Seconds> now = measured_time(model);
  return {title_of(model) + ", the whole model",
          model.limits.operations.value,
          static_cast<double>(model.limits.compulsory.value),
          now ? now : complete_time(model.bounds, results::BoundKind::kLibrary, "fusion")};
}

void add_points(const analysis::RunReport& report, double peak, double bandwidth, Page& page) {
  double lowest = 0.1;  // operations a byte
  double highest = 100.0;
  const auto add = [&](const RooflinePoint& point, Json& points) {
    if (point.known()) {
      lowest = std::min(lowest, point.intensity());
      highest = std::max(highest, point.intensity());
      points.push_back(point.json());
    }
  };
  Json models = Json::array();
  Json wholes = Json::array();
  for (const analysis::ModelReport& model : report.models) {
    Json points = Json::array();
    for (const analysis::PartitionStep& step : model.bounds.cover) {
      add(point_of(model, step), points);
    }
    models.push_back({{"label", title_of(model)}, {"points", std::move(points)}});
    add(whole_of(model), wholes);
  }
  Json ceilings = Json::array();
  for (const double intensity : {lowest, peak / bandwidth, highest}) {
    ceilings.push_back({{"x", intensity}, {"y", std::min(intensity * bandwidth, peak) / 1e9}});
  }
  page.chart("Roofline: arithmetic rate against arithmetic intensity",
             460,
             "roofline",
             {{"ceilings", ceilings}, {"wholes", wholes}, {"models", models}});
}

void add_limits(const analysis::RunReport& report, Page& page) {
  PageTable table{.head =
                      head_row("model|limit|#operations|#bytes at least|#operations/byte|#ridge")};
  table.caption =
      "What binds the models as a whole. The ridge is where the ceilings of arithmetic and memory "
      "meet. The last columns are shares of the time of a model's steps, by what binds each.";
  std::vector<ModelParts> parts;
  for (const analysis::Limit limit : analysis::kLimits) {
    ModelParts& part = parts.emplace_back(ModelParts{std::string(to_text(limit)), {}});
    for (const analysis::ModelReport& model : report.models) {
      part.shares.emplace_back(model.limits.share(limit));
    }
    table.head << number_cell(part.name);
  }
  add_parts(report,
            "Time of each model by what binds its steps",
            "% of the fused library bound",
            parts,
            page);
  const auto decimal = [](double value) { return fmt::format("{:.1f}", value); };
  for (const analysis::ModelReport& model : report.models) {
    const analysis::ModelLimits& limits = model.limits;
    PageRow& row = table.row();
    row << title_of(model) << (limits.limit ? to_text(*limits.limit) : "–")
        << count_cell(limits.operations.value) << bytes_cell(limits.compulsory)
        << quantity_cell(limits.intensity, decimal) << quantity_cell(limits.ridge, decimal);
    for (const analysis::Limit limit : analysis::kLimits) {
      row << share_cell(limits.share(limit));
    }
  }
  page.table(table);
}

}  // namespace

void add_roofline(const analysis::RunReport& report, Page& page) {
  const double peak = report.calibration ? report.calibration->peak_f32.value : 0.0;
  const double bandwidth = report.calibration ? report.calibration->memory_bandwidth.value : 0.0;
  if (peak <= 0.0 || bandwidth <= 0.0) {
    return;
  }
  if (page.extent() == Extent::kPage) {
    page.heading("Roofline");
    page.paragraph(fmt::format(
        "Each point is one layer, and each diamond a whole model in its time now. The line is the "
        "measured limit of this machine: {}FLOP/s in f32, {}B/s from memory. Points above the "
        "slope were served by caches (hot buffers). Points above the flat part use an algorithm of "
        "fewer operations (Winograd), or the ceiling was measured on a disturbed host. Points far "
        "below the line are slow kernels.",
        count_text(peak),
        count_text(bandwidth)));
    add_points(report, peak, bandwidth, page);
  }
  add_limits(report, page);
}

}  // namespace plumb::reporting
