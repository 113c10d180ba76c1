// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/analysis/report/json_document.hpp"
#include "harness/analysis/whatif/mode_accuracy.hpp"
#include "harness/analysis/whatif/mode_settings.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/content/run/run_content.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

using analysis::Json;
using analysis::PartitionStep;
using analysis::WhatIfResult;

/// Adds the way from the time now to the bound: a bar for each level, and one between two of them.
void add_waterfall(const analysis::ModelReport& model, Page& page) {
  const std::vector<analysis::WaterfallLevel>& levels = model.waterfall;
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
  add_bar("now", Seconds{}, levels.front().seconds, false);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    std::optional<Seconds> less;
    if (i > 0) {
      less = levels[i - 1].seconds - levels[i].seconds;
      add_bar(levels[i].what, levels[i].seconds, levels[i - 1].seconds, true);
    }
    table.row() << levels[i].name << levels[i].seconds << interval_cell(levels[i].interval) << less
                << levels[i].what;
  }
  add_bar(levels.back().name, Seconds{}, levels.back().seconds, false);
  page.subheading("From now to the bound");
  page.chart("From the time of " + title_of(model) + " now to its bound, in milliseconds",
             80 + 34 * static_cast<int>(bars.size()),
             "waterfall",
             bars);
  page.table(table);
}

/// Returns the operator of a key, without its version.
std::string operator_of(const std::string& key) {
  const std::size_t begin = std::min(key.find(':') + 1, key.size());
  return key.substr(begin, key.find(';') - begin);
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
      longest.push_back(
          fmt::format("{} {}",
                      step.rewrite.empty() ? operator_of(step.key.text) : step.rewrite,
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

/// Returns what a what-if is, or why it has no prediction.
std::string how_text(const WhatIfResult& result) {
  if (!result.why_not.empty()) {
    return (result.applies ? "not known: " : "does not apply: ") + result.why_not;
  }
  return result.mode + (result.not_judged.empty() ? "" : "; not judged: " + result.not_judged);
}

std::string settings_text(const WhatIfResult& result) {
  std::vector<std::string> settings;
  for (const analysis::ModeSetting& each : analysis::settings_of(result.execution_mode)) {
    settings.push_back(fmt::format("{}: {}", each.framework, each.setting));
  }
  return fmt::format("{}", fmt::join(settings, "; "));
}

PageCell saving_cell(const WhatIfResult& result) {
  PageRow row;
  row << analysis::predicted_saving(result);
  if (const auto saving = analysis::saving_with_interval(result)) {
    row.back().text += fmt::format(
        " ({} to {})", time_text(saving->interval.low), time_text(saving->interval.high));
  }
  return row.back();
}

/// Adds the names of what has no number, in a sentence; nothing if there are none.
void add_names(const char* what, const std::vector<std::string>& names, Page& page) {
  if (!names.empty()) {
    page.paragraph(fmt::format("{}: {}.", what, fmt::join(names, ", ")));
  }
}

/// Adds what-ifs with their numbers and meanings. A comment has the names alone of those without a
/// number.
void add_answers(const std::vector<WhatIfResult>& results, Page& page) {
  const bool all = page.extent() == Extent::kPage;
  std::vector<std::string> unknown;
  std::vector<std::string> elsewhere;
  PageTable answers{.head = head_row("what if|#saves|#now, priced|#predicted|#speed-up|"
                                     "#now, measured|#realised|#speed-up|#error|accuracy|#memory"),
                    .caption =
                        "The largest predicted saving comes first. Predicted: the plan priced by "
                        "its measured steps. Realised: executed end to end with it switched on. –: "
                        "the run does not have the data."};
  PageTable meanings{
      .head = head_row(all ? "what if|how|needs|setting|command" : "what if|how|command"),
      .caption = "What each of them is, what it needs, and what switches it on"};
  for (const WhatIfResult& result : results) {
    const bool known = result.why_not.empty();
    if (!all && !known && !result.realised) {
      (result.applies ? unknown : elsewhere).push_back(result.name);
      continue;
    }
    answers.row() << result.name + (result.combination ? " (combination)" : "")
                  << saving_cell(result) << result.baseline
                  << (known ? result.predicted : std::nullopt)
                  << ratio_cell(known ? result.predicted_speedup : std::nullopt)
                  << result.realised_baseline << result.realised
                  << ratio_cell(result.realised_speedup)
                  << number_cell(prediction_error_text(result))
                  << analysis::accuracy_class(result.execution_mode)
                  << bytes_cell(result.realised_memory);
    PageRow& meaning = meanings.row() << result.name << how_text(result);
    if (all) {
      meaning << fmt::format("{}", fmt::join(result.prerequisites, "; ")) << settings_text(result);
    }
    meaning << code_cell(result.command);
  }
  add_rows(answers, page);
  add_rows(meanings, page);
  add_names("Not known from this run; `plumb whatif --all` says why", unknown, page);
  add_names("Do not apply", elsewhere, page);
}

void add_better_variants(const std::vector<WhatIfResult>& results, Page& page) {
  PageTable table{.head = head_row("layer|#its choice|#fastest|#saved|change|key"),
                  .caption = "Variants the library should have picked"};
  for (const WhatIfResult& result : results) {
    for (const WhatIfResult::LayerSaving& layer : result.layers) {
      if (result.name == "best_variant" && layer.before > layer.after) {
        table.row() << layer.layer << layer.before << layer.after << layer.before - layer.after
                    << layer.change << key_cell(layer.key.text);
      }
    }
  }
  add_rows(table, page);
}

}  // namespace

void add_what_ifs(const analysis::ModelReport& model, Page& page) {
  const bool all = page.extent() == Extent::kPage;
  page.subheading("What-ifs");
  if (all) {
    add_waterfall(model, page);
    add_critical_paths(model.bounds, page);
  }
  add_answers(model.whatifs.whatifs, page);
  if (all) {
    add_better_variants(model.whatifs.whatifs, page);
  }
}

}  // namespace plumb::reporting
