// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/analysis/limits/batch_curve.hpp"
#include "harness/base/units.hpp"
#include "reporting/content/run/run_content.hpp"
#include "reporting/content/samples/profile_files.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

using analysis::PartitionStep;

/// Texts about how rows were executed, by row. Rows of which the backend says nothing are absent.
using ExecutionTexts = std::map<results::RowId, std::string>;

ExecutionTexts execution_texts(const std::vector<results::StoredMeasurement>& rows) {
  ExecutionTexts texts;
  for (const results::StoredMeasurement& row : rows) {
    std::string text = attribute_text(row.measurement.attributes, row.measurement.readings);
    if (!text.empty()) {
      texts.emplace(row.row, std::move(text));
    }
  }
  return texts;
}

void add_flame_graph(const analysis::RunReport::Model& model, Page& page) {
  nlohmann::ordered_json frames = nlohmann::ordered_json::array();
  for (const ProfileFrame& frame : list_visible_frames(*model.profile)) {
    frames.push_back(
        {sanitize_utf8(frame.name), frame.first, frame.samples, frame.depth, frame_color(frame)});
  }
  if (frames.empty()) {
    return;
  }
  page.subheading("Inside the layers");
  page.paragraph(fmt::format(
      "Samples of executions in the mode {}: the model, its steps in their order, and the "
      "functions of each, as wide as their shares. A click on a frame shows it alone. `plumb "
      "profile RUN` lists the functions.",
      model.profile->mode));
  page.chart("Flame graph of " + title_of(model), 0, "flames", frames);
}

void add_listing(const ListingContent& listing, Page& page) {
  if (!listing.notes.empty()) {
    page.list(listing.notes);
  }
  add_rows(listing_table(listing.rows), page);
}

/// Adds where inside a model's layers its time goes: in a comment, the hottest function.
void add_profile(const analysis::RunReport::Model& model, Page& page) {
  constexpr std::size_t kInstructions = 20;  // in a comment
  if (!model.profile) {
    return;
  }
  const results::NamedProfile& profile = *model.profile;
  const bool all = page.extent() == Extent::kPage;
  if (all) {
    add_flame_graph(model, page);
  }
  if (profile.listings.empty()) {
    page.paragraph(kNoListings);
    return;
  }
  if (!all) {
    const ListingContent hottest = describe_listing(analysis::list_shares(
        profile, results::shorten_listing(profile.listings.front(), kInstructions)));
    page.paragraph("Hottest function: " + hottest.title);
    add_listing(hottest, page);
    return;
  }
  page.subheading("Hottest functions");
  page.paragraph(
      "Instructions with their share of the samples of the function, and what lies around them. "
      "\"…\" stands for instructions that are left out.");
  for (const results::NamedProfile::Listing& each : profile.listings) {
    const ListingContent listing = describe_listing(analysis::list_shares(profile, each));
    page.begin_fold(listing.title, false);
    add_listing(listing, page);
    page.end_fold();
  }
}

/// Returns the steps that cost something, the slowest first.
std::vector<const PartitionStep*> slowest_steps(const analysis::RunReport::Model& model) {
  std::vector<const PartitionStep*> steps;
  for (const PartitionStep& step : model.bounds.cover) {
    if (!is_free(model, step)) {
      steps.push_back(&step);
    }
  }
  std::stable_sort(steps.begin(), steps.end(), [](const auto* one, const auto* other) {
    return one->time && (!other->time || one->time->time.median > other->time->time.median);
  });
  return steps;
}

/// Adds the steps of the fused library bound, slowest first: all of them on a page, else the first.
void add_layers(const analysis::RunReport::Model& model,
                const ExecutionTexts& executions,
                Page& page) {
  constexpr std::size_t kMost = 5;
  const bool all = page.extent() == Extent::kPage;
  std::map<std::string_view, const analysis::ModelLimits::Step*> limits;
  for (const analysis::ModelLimits::Step& limit : model.limits.steps) {
    limits[limit.key.text] = &limit;
  }
  std::vector<const PartitionStep*> steps = slowest_steps(model);
  if (!all) {
    std::erase_if(steps, [](const PartitionStep* step) { return !step->time; });
  }
  const bool told = all && std::any_of(steps.begin(), steps.end(), [&](const PartitionStep* step) {
                      return step->time && executions.contains(step->time->row);
                    });
  PageTable table{
      .head = head_row("layer|op|#time|+#± 95%|+#n|+#MACs|limit|#of peak|#of bandwidth|#block use|"
                       "#padded|+critical|variant|key"),
      .caption = "Steps of the fused library bound, slowest first",
      .filter = "filter layers of " + title_of(model)};
  const bool on_gpu =
      std::any_of(model.limits.steps.begin(),
                  model.limits.steps.end(),
                  [](const analysis::ModelLimits::Step& step) { return step.waves.has_value(); });
  if (on_gpu) {
    table.head << number_cell("idle in last wave");
  }
  if (told) {
    table.head << "executed by";
  }
  for (const PartitionStep* const step : steps) {
    std::int64_t macs = 0;
    for (const model::LayerId layer : step->layers) {
      macs = saturating_sum(macs, model.graph.layers[layer].cost.macs);
    }
    const auto limit = limits.find(step->key.text);
    const analysis::ModelLimits::Step none{};
    const analysis::ModelLimits::Step& of_step = limit == limits.end() ? none : *limit->second;
    std::optional<Seconds> time;
    std::optional<double> half;
    std::optional<double> samples;
    if (step->time) {
      time = step->time->time.median;
      half = measure::relative_half_width(step->time->time);
      samples = static_cast<double>(step->time->time.n);
    }
    const model::Layer& layer = first_layer(model, *step);
    PageRow& row = table.row();
    row << name_of(layer)
        << layer.onnx_op + (step->rewrite.empty() ? "" : " (" + step->rewrite + ")") << time
        << small_share_cell(half) << count_cell(samples) << count_cell(static_cast<double>(macs))
        << (of_step.limit ? to_text(*of_step.limit) : "–") << share_cell(of_step.peak_share)
        << share_cell(of_step.bandwidth_share) << share_cell(of_step.block_use)
        << of_step.padded_seconds << (step->critical ? "yes" : "")
        << variant_cell(step->time ? step->time->variant : "–") << key_cell(step->key.text);
    if (on_gpu) {
      row << share_cell(of_step.idle_in_last_wave());
    }
    if (told) {
      const auto execution = executions.find(step->time ? step->time->row : -1);
      row << (execution == executions.end() ? "–" : execution->second);
    }
  }
  if (all) {
    page.subheading("Layers");
    page.table(table);
  } else {
    add_first_rows(std::move(table), kMost, page);
  }
}

}  // namespace

void add_models(const analysis::RunReport& report, Question question, Page& page) {
  const Extent extent = page.extent();
  const bool in_parts = extent == Extent::kPage || extent == Extent::kComment;
  if (in_parts && !report.models.empty()) {
    page.heading("Model by model");
  }
  const ExecutionTexts executions = execution_texts(report.rows);
  for (const analysis::RunReport::Model& model : report.models) {
    page.begin_fold(
        fmt::format("{} — {} layers measured", title_of(model), completeness_text(model)),
        &model == &report.models.front() && extent == Extent::kPage);
    if (question != Question::kWhatIfs) {
      add_bounds(model, report.now, page);
    }
    if (extent == Extent::kPage) {
      add_timelines(model, page);
    }
    if (in_parts) {
      add_profile(model, page);
      page.subheading("What-ifs");
    }
    if (question != Question::kBounds) {
      add_what_ifs(model, page);
    }
    if (question != Question::kWhatIfs && extent != Extent::kTerminal) {
      add_layers(model, executions, page);
    }
    page.end_fold();
  }
}

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
