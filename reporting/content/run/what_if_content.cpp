// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/analysis/report/run_json.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "reporting/content/run/run_content.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

using analysis::Json;
using analysis::PartitionStep;
using analysis::WhatIfResult;

/// Adds the way from the time now to the bound: "12.8 ms now; 1.2 ms reorders, cold caches and
/// gaps; …; 7.3 ms is left (hardware)". On a page also a bar for each level, and one between two.
void add_waterfall(const analysis::RunReport::Model& model, Page& page) {
  const std::vector<analysis::ModelWhatIfs::WaterfallLevel>& levels = model.waterfall;
  if (levels.size() < 2) {
    return;
  }
  Json bars = Json::array();
  const auto add_bar = [&](const std::string& name, Seconds from, Seconds to, bool between) {
    bars.push_back({{"name", name},
                    {"from", 1e3 * from.count()},
                    {"to", 1e3 * to.count()},
                    {"between", between},
                    {"text", time_text(to - from)}});
  };
  PageTable table{.head =
                      head_row("level|#time|#95% interval|#less than before|what lies between")};
  table.caption =
      "Each row lies below the one before. Levels of the model's own type that are not known are "
      "left out.";
  add_bar("now", Seconds{}, levels.front().time.median, false);
  std::string sentence = time_text(levels.front().time.median) + " now";
  for (std::size_t i = 0; i < levels.size(); ++i) {
    std::optional<Seconds> less;
    if (i > 0) {
      less = levels[i - 1].time.median - levels[i].time.median;
      add_bar(levels[i].what, levels[i].time.median, levels[i - 1].time.median, true);
      sentence += fmt::format("; {} {}", time_text(*less), levels[i].what);
    }
    table.row() << levels[i].name << levels[i].time.median << interval_cell(levels[i].time.interval)
                << less << levels[i].what;
  }
  add_bar(levels.back().name, Seconds{}, levels.back().time.median, false);
  page.paragraph(fmt::format(
      "{}; {} is left ({})", sentence, time_text(levels.back().time.median), levels.back().name));
  if (page.extent() != Extent::kPage) {
    return;
  }
  page.chart("From the time of " + title_of(model) + " now to its bound, in milliseconds",
             80 + 34 * static_cast<int>(bars.size()),
             "waterfall",
             bars);
  page.table(table);
}

void add_path(const char* name, std::vector<PartitionStep> path, PageTable& table) {
  constexpr std::size_t kMost = 3;
  const auto seconds = [](const PartitionStep& step) {
    return step.time ? step.time->time.median : Seconds{};
  };
  std::stable_sort(path.begin(), path.end(), [&](const auto& one, const auto& other) {
    return seconds(one) > seconds(other);
  });
  std::optional<Seconds> sum = Seconds{};
  std::vector<std::string> longest;
  for (const PartitionStep& step : path) {
    sum = sum && step.time ? std::optional(*sum + seconds(step)) : std::nullopt;
    if (longest.size() < kMost) {
      longest.push_back(fmt::format("{} {}",
                                    step.rewrite.empty() ? model::operator_name(step.key.text)
                                                         : std::string_view(step.rewrite),
                                    step.time ? time_text(seconds(step)) : "–"));
    }
  }
  table.row() << name << count_cell(static_cast<double>(path.size())) << sum
              << fmt::format("{}", fmt::join(longest, ", "));
}

void add_critical_paths(const analysis::ModelBounds& model, Page& page) {
  PageTable table{.head = head_row("path|#steps|#time|its longest steps")};
  table.caption =
      "The critical path before and after fusion: the longest chain of steps that wait for each "
      "other, all else beside it.";
  add_path("before: layers as written", model.plain_critical_steps, table);
  add_path("after: fused steps", model.critical_steps, table);
  page.table(table);
}

/// Splits a variant's text into its fields.
std::vector<std::string_view> fields_of(std::string_view variant) {
  std::vector<std::string_view> fields;
  while (!variant.empty()) {
    const std::size_t end = std::min(variant.find(';'), variant.size());
    fields.push_back(variant.substr(0, end));
    variant.remove_prefix(std::min(end + 1, variant.size()));
  }
  return fields;
}

/// Returns the fields of a variant that another lacks: "brgconv:avx512_core_vnni".
std::string own_fields(std::string_view variant, std::string_view other) {
  const std::vector<std::string_view> others = fields_of(other);
  std::string result;
  for (const std::string_view field : fields_of(variant)) {
    if (std::find(others.begin(), others.end(), field) == others.end()) {
      const std::string_view implementation = results::VariantId(field).implementation();
      result += result.empty() ? "" : ";";
      result += implementation.empty() ? field : implementation;
    }
  }
  return result;
}

/// Returns what differs between two variants "A → B", and of one variant its implementation. Any
/// other text stays as it is.
std::string short_change(std::string_view change) {
  constexpr std::string_view kArrow = " → ";
  const std::size_t arrow = change.find(kArrow);
  const std::string_view before = change.substr(0, arrow);
  const std::string_view implementation = results::VariantId(before).implementation();
  if (implementation.empty()) {
    return std::string(change);
  }
  if (arrow == std::string_view::npos) {
    return std::string(implementation);
  }
  const std::string_view after = change.substr(arrow + kArrow.size());
  return own_fields(before, after) + std::string(kArrow) + own_fields(after, before);
}

/// Adds the what-ifs that have a number: a predicted saving, or a realised time.
void add_answers(const std::vector<WhatIfResult>& results, Page& page) {
  PageTable table{.head = head_row("what if|#saves|*#saves, 95 %|*#now, priced|#predicted|"
                                   "*#speed-up|*#now, measured|#realised|#speed-up|#error|"
                                   "*#error, 95 %|accuracy|*#memory")};
  if (page.extent() != Extent::kTerminal) {
    table.caption =
        "The largest predicted saving comes first. Predicted: the plan priced by its measured "
        "steps. Realised: executed end to end with it switched on. –: the run does not have the "
        "data.";
  }
  for (const WhatIfResult& result : results) {
    const std::optional<Seconds> saving = analysis::predicted_saving(result);
    if (!saving && !result.realised) {
      continue;
    }
    const auto range = analysis::saving_with_interval(result);
    const auto& error = result.prediction_error;
    table.row() << result.name << saving
                << (range ? interval_cell(range->interval) : number_cell("–"))
                << time_cell(result.baseline, result.baseline_interval)
                << time_cell(saving ? result.predicted : std::nullopt, result.predicted_interval)
                << ratio_cell(saving ? result.predicted_speedup : std::nullopt)
                << time_cell(result.realised_baseline, result.realised_baseline_interval)
                << time_cell(result.realised, result.realised_interval)
                << ratio_cell(result.realised_speedup)
                << small_share_cell(error ? std::optional(error->share) : std::nullopt)
                << (error ? number_cell(fmt::format(
                                "{:.1f} … {:.1f} %", 100.0 * error->low, 100.0 * error->high))
                          : number_cell("–"))
                << analysis::accuracy_class(result.execution_mode)
                << bytes_cell(result.realised_memory);
  }
  add_rows(table, page);
}

/// Adds what a what-if is and the command that switches it on. Near the reader it also adds what
/// does so elsewhere, and what it needs.
void add_meaning(const WhatIfResult& result, Page& page) {
  const std::string what =
      fmt::format("{}{}: {}", result.name, result.combination ? " (combination)" : "", result.mode);
  if (result.command.empty()) {
    page.paragraph(what);
  } else {
    page.command(what, result.command);
  }
  std::vector<std::string> notes;
  if (page.extent() >= Extent::kText) {
    for (const analysis::WhatIfResult::Setting& each :
         analysis::settings_of(result.execution_mode)) {
      notes.push_back(fmt::format("{}: {}", each.framework, each.setting));
    }
    for (const std::string& need : result.prerequisites) {
      notes.push_back("needs " + need);
    }
  }
  if (!result.not_judged.empty()) {
    notes.push_back("not judged: " + result.not_judged);
  }
  add_texts(std::move(notes), page);
}

/// Adds the steps in which a what-if saves most, and what the others add up to. A page has all
/// variants that the library should have picked.
void add_savings(const WhatIfResult& result, Extent extent, PageTable& table) {
  constexpr std::size_t kMost = 3;
  const std::size_t most =
      extent == Extent::kPage && result.name == "best_variant" ? result.layers.size() : kMost;
  Seconds rest{};
  for (std::size_t i = 0; i < result.layers.size(); ++i) {
    const WhatIfResult::LayerSaving& layer = result.layers[i];
    if (i >= most) {
      rest += layer.before - layer.after;
    } else if (layer.before != layer.after) {
      table.row() << result.name << layer.layer << layer.before << layer.after
                  << layer.before - layer.after
                  << (extent < Extent::kText ? short_change(layer.change) : layer.change)
                  << key_cell(layer.key.text);
    }
  }
  if (rest != Seconds{}) {
    table.row() << result.name << fmt::format("and {} more", result.layers.size() - most)
                << number_cell("–") << number_cell("–") << rest << "--json lists them"
                << "";
  }
}

/// Adds what the what-ifs with a predicted saving are, and where they save. Far from the reader it
/// adds the first ones alone.
void add_predicted(const std::vector<WhatIfResult>& results, Page& page) {
  constexpr std::size_t kMost = 3;
  const bool all = page.extent() >= Extent::kText;
  PageTable savings{.head = head_row("what if|layer|#before|#after|#saved|change|*key"),
                    .caption = "Where they save"};
  std::size_t added = 0;
  for (const WhatIfResult& result : results) {
    const std::optional<Seconds> saving = analysis::predicted_saving(result);
    if (saving && (all || (*saving > Seconds{} && added++ < kMost))) {
      add_meaning(result, page);
      add_savings(result, page.extent(), savings);
    }
  }
  if (page.extent() != Extent::kComment) {
    add_rows(savings, page);
  }
}

/// Adds why what-ifs have no prediction. Far from the reader, those that do not apply are only
/// named.
void add_reasons(const std::vector<WhatIfResult>& results, Page& page) {
  std::vector<std::string> reasons;
  std::vector<std::string> elsewhere;
  for (const WhatIfResult& result : results) {
    if (!result.applies && page.extent() < Extent::kText) {
      elsewhere.push_back(result.name);
    } else if (!analysis::predicted_saving(result)) {
      reasons.push_back(fmt::format("{}: {}: {}",
                                    result.name,
                                    result.applies ? "not predicted" : "does not apply",
                                    result.why_not));
    }
  }
  if (!elsewhere.empty()) {
    reasons.push_back(fmt::format("do not apply here: {}", fmt::join(elsewhere, ", ")));
  }
  if (!reasons.empty()) {
    page.paragraph("Without a prediction");
    page.list(reasons);
  }
}

}  // namespace

void add_what_ifs(const analysis::RunReport::Model& model, Page& page) {
  const std::vector<WhatIfResult>& results = model.whatifs.whatifs;
  add_waterfall(model, page);
  if (page.extent() == Extent::kPage) {
    add_critical_paths(model.bounds, page);
  }
  add_answers(results, page);
  add_predicted(results, page);
  add_reasons(results, page);
}

}  // namespace plumb::reporting
