// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/analysis/limits/rate_cliff.hpp"
#include "reporting/content/run/run_content.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

using analysis::RateCliff;
using analysis::SingleLayerResult;

constexpr std::size_t kMaxCliffs = 8;

std::optional<Seconds> time_of(const SingleLayerResult& layer) {
  return layer.time ? std::optional(layer.time->time.median) : std::nullopt;
}

/// Makes a cell of multiply-accumulates per second: "12.34 G".
PageCell rate_cell(const SingleLayerResult& layer) {
  const double seconds = layer.time ? layer.time->time.median.count() : 0.0;
  return count_cell(seconds > 0.0 && layer.cost.macs > 0
                        ? std::optional(static_cast<double>(layer.cost.macs) / seconds)
                        : std::nullopt);
}

/// Makes a cell of a layer's time as a multiple of its hardware bound.
PageCell distance_cell(const SingleLayerResult& layer) {
  return ratio_cell(layer.time && layer.hardware && *layer.hardware > Seconds{}
                        ? std::optional(layer.time->time.median / *layer.hardware)
                        : std::nullopt);
}

void add_cliff(const RateCliff& cliff, PageTable& table, Page& page) {
  const SingleLayerResult& first = *cliff.points.front().layer;
  const model::LayerSpec spec = model::parse_key(first.layer.key);
  const std::string name =
      spec.op + (spec.has_input(0) ? fmt::format(" {}", to_text(spec.inputs[0]->dtype)) : "");
  std::vector<std::int64_t> extents;
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const analysis::RateCliff::Point& point : cliff.points) {
    const std::optional<Seconds> time = time_of(*point.layer);
    const PageCell rate = rate_cell(*point.layer);
    extents.push_back(point.extent);
    points.push_back({{"extent", point.extent},
                      {"rate", point.macs_per_second / 1e9},
                      {"text", fmt::format("{}MAC/s, {}", rate.text, time_text(*time))}});
    table.row() << count_cell(static_cast<double>(point.extent)) << time << rate
                << variant_cell(point.layer->time->variant)
                << key_cell(point.layer->layer.key.text);
  }
  page.subheading(fmt::format("{}, extent {}: falls to {:.0f} % in one step",
                              name,
                              fmt::join(extents, ", "),
                              100.0 * cliff.steepest()));
  page.chart("Rate of " + name + " against its extent", 220, "rates", points);
}

void add_cliffs(const analysis::RunReport& report, Page& page) {
  std::vector<RateCliff> cliffs = analysis::find_cliffs(report.layers);
  if (cliffs.empty()) {
    return;
  }
  const std::size_t all = cliffs.size();
  cliffs.resize(std::min(all, kMaxCliffs));
  page.heading("Cliffs");
  page.paragraph(
      "Each line is one layer at several extents. A rate that falls where an extent misses a "
      "multiple of the kernel's block is lost to work on padding. The steepest come first" +
      (all > kMaxCliffs ? fmt::format("; {} more are not drawn.", all - kMaxCliffs) : "."));
  PageTable table{.head = head_row("#extent|#time|#MAC/s|variant|key"),
                  .caption = "The layers behind the lines"};
  for (const RateCliff& cliff : cliffs) {
    add_cliff(cliff, table, page);
  }
  page.table(table);
}

}  // namespace

void add_single_layers(const analysis::RunReport& report, Page& page) {
  if (report.layers.empty()) {
    return;
  }
  page.heading("Single layers");
  page.paragraph(
      "Layers that the suite lists by themselves, in its order. Times are of the fastest variant, "
      "on hot buffers unless the suite measures another mode.");
  PageTable table{.head = head_row("#time|#MACs|#MAC/s|#÷ hardware|#count|"
                                   "variant, or why there is no time|from|key"),
                  .caption = "÷ hardware is the time over the hardware bound of the layer alone.",
                  .filter = "filter single layers",
                  .whole = true};
  for (const SingleLayerResult& layer : report.layers) {
    table.row() << time_of(layer) << count_cell(static_cast<double>(layer.cost.macs))
                << rate_cell(layer) << distance_cell(layer)
                << count_cell(static_cast<double>(layer.layer.count))
                << (layer.time ? variant_cell(layer.time->variant) : text_cell(layer.reason))
                << layer.layer.file << key_cell(layer.layer.key.text);
  }
  page.table(table);
  if (page.extent() == Extent::kPage) {
    add_cliffs(report, page);
  }
}

}  // namespace plumb::reporting
