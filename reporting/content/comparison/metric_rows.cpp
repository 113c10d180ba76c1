// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/metric_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/document/ratio_plot.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

double size_of_change(const analysis::MetricComparison& metric) {
  return metric.ratio ? std::abs(std::log(*metric.ratio)) : 0.0;
}

std::string amount_text(const analysis::MetricComparison& metric, double amount) {
  if (metric.in_bytes) {
    return bytes_text(Bytes{static_cast<std::int64_t>(amount)});
  }
  return metric.ratio ? time_text(Seconds(amount)) : "–";
}

std::string levels_text(const analysis::MetricComparison::Levels& levels) {
  return fmt::format(
      "two levels: {} in {} processes and {} in {}, suspected cause: {}; baseline {} and {}, "
      "candidate {} and {}",
      time_text(Seconds(levels.low_seconds)),
      levels.known.low,
      time_text(Seconds(levels.high_seconds)),
      levels.known.high,
      levels.suspected_cause,
      levels.baseline.low,
      levels.baseline.high,
      levels.candidate.low,
      levels.candidate.high);
}

}  // namespace

std::string change_text(double ratio) {
  return fmt::format("{:+.2f} %", (ratio - 1.0) * 100.0);
}

std::string change_interval_text(const analysis::MetricComparison& metric) {
  return metric.ratio && metric.has_interval
             ? change_text(metric.low) + " … " + change_text(metric.high)
             : "–";
}

std::string baseline_text(const analysis::MetricComparison& metric) {
  return amount_text(metric, metric.baseline);
}

std::string candidate_text(const analysis::MetricComparison& metric) {
  return amount_text(metric, metric.candidate);
}

std::string ratio_change_text(const analysis::MetricComparison& metric) {
  return metric.ratio ? change_text(*metric.ratio) : "–";
}

std::string detectable_text(const analysis::MetricComparison& metric) {
  return metric.mde ? share_text(*metric.mde, 2) : "–";
}

std::string reason_text(const analysis::MetricComparison& metric) {
  if (!metric.levels) {
    return metric.reason;
  }
  return metric.reason + (metric.reason.empty() ? "" : "; ") + levels_text(*metric.levels);
}

std::string why_text(const analysis::MetricComparison& metric) {
  std::string why = reason_text(metric);
  for (std::size_t i = 0; i < metric.causes.size(); ++i) {
    const analysis::MetricComparison::Cause& cause = metric.causes[i];
    why +=
        fmt::format("{}{} ({:.0f} %)", why.empty() ? "" : "; ", cause.cause, 100.0 * cause.share);
    // Evidence that several causes rest on is written once, after the last of them.
    const bool same_follows =
        i + 1 < metric.causes.size() && metric.causes[i + 1].evidence == cause.evidence;
    why += same_follows ? "" : ": " + cause.evidence;
  }
  return why;
}

std::string layer_command(const std::string& key) {
  return "plumb layer " + shell_quoted(key);
}

std::string named_key(const std::string& key,
                      const std::map<std::string, std::string>& places,
                      const std::string& shown) {
  const auto place = places.find(key);
  return place == places.end() ? shown : place->second + ": " + shown;
}

std::string named_key(const std::string& key, const std::map<std::string, std::string>& places) {
  return named_key(key, places, key);
}

bool is_worse(const analysis::MetricComparison& metric) {
  return metric.verdict == analysis::ComparisonVerdict::kBroken ||
         metric.verdict == analysis::ComparisonVerdict::kRegressed;
}

bool is_changed(const analysis::MetricComparison& metric) {
  return is_worse(metric) || metric.verdict == analysis::ComparisonVerdict::kImproved;
}

MetricList changed_metrics(std::span<const analysis::MetricComparison> metrics) {
  MetricList changed;
  for (const analysis::MetricComparison& metric : metrics) {
    if (is_changed(metric)) {
      changed.push_back(&metric);
    }
  }
  const auto order = [](const analysis::MetricComparison* metric) {
    return std::tuple(metric->verdict, analysis::is_detail(*metric), -size_of_change(*metric));
  };
  std::stable_sort(changed.begin(), changed.end(), [&](const auto* one, const auto* other) {
    return order(one) < order(other);
  });
  return changed;
}

MetricList extreme_layers(std::span<const analysis::MetricComparison> metrics, std::size_t most) {
  MetricList layers;
  for (const analysis::MetricComparison& metric : metrics) {
    if (metric.kind == analysis::MetricKind::kLayer && metric.ratio) {
      layers.push_back(&metric);
    }
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto* one, const auto* other) {
    return *one->ratio > *other->ratio;
  });
  if (layers.size() > 2 * most) {
    const auto end = static_cast<std::ptrdiff_t>(most);
    layers.erase(layers.begin() + end, layers.end() - end);
  }
  return layers;
}

VerdictCounts verdict_counts(std::span<const analysis::MetricComparison> metrics) {
  VerdictCounts counts;
  for (const analysis::MetricComparison& metric : metrics) {
    ++counts[metric.verdict];
  }
  return counts;
}

std::string counts_text(VerdictCounts counts) {
  using Verdict = analysis::ComparisonVerdict;
  return fmt::format("{} broken, {} regressed, {} improved, {} equivalent, {} inconclusive",
                     counts[Verdict::kBroken],
                     counts[Verdict::kRegressed],
                     counts[Verdict::kImproved],
                     counts[Verdict::kEquivalent],
                     counts[Verdict::kInconclusive]);
}

std::string outputs_text(std::span<const analysis::MetricComparison> metrics) {
  std::size_t same = 0;
  std::size_t within = 0;
  std::size_t worse = 0;
  std::size_t better = 0;
  std::size_t open = 0;
  for (const analysis::MetricComparison& metric : metrics) {
    if (metric.kind == analysis::MetricKind::kAccuracy) {
      const bool equivalent = metric.verdict == analysis::ComparisonVerdict::kEquivalent;
      same += equivalent && metric.output && metric.output->same_bits ? 1U : 0U;
      within += equivalent && metric.output && !metric.output->same_bits ? 1U : 0U;
      worse += is_worse(metric) ? 1U : 0U;
      better += metric.verdict == analysis::ComparisonVerdict::kImproved ? 1U : 0U;
      open += metric.verdict == analysis::ComparisonVerdict::kInconclusive ? 1U : 0U;
    }
  }
  if (same + within + worse + better + open == 0) {
    return {};
  }
  return fmt::format(
      "{} the same bit for bit, {} with other bits within the tolerance, {} beyond it now, {} "
      "within it again, {} unknown",
      same,
      within,
      worse,
      better,
      open);
}

std::string floors_text(std::span<const analysis::MetricComparison> metrics) {
  std::vector<double> calibrated;
  std::size_t learned = 0;
  std::size_t assumed = 0;
  for (const analysis::MetricComparison& metric : metrics) {
    if (metric.kind == analysis::MetricKind::kLayer && metric.floor) {
      if (metric.floor->source == analysis::MetricComparison::Floor::Source::kCalibrated) {
        calibrated.push_back(metric.floor->relative);
      } else {
        ++(metric.floor->source == analysis::MetricComparison::Floor::Source::kLearned ? learned
                                                                                       : assumed);
      }
    }
  }
  std::vector<std::string> parts;
  if (!calibrated.empty()) {
    const auto [least, most] = std::minmax_element(calibrated.begin(), calibrated.end());
    parts.push_back(fmt::format(
        "{} calibrated ({:.1f} to {:.1f} %)", calibrated.size(), 100.0 * *least, 100.0 * *most));
  }
  if (learned > 0) {
    parts.push_back(fmt::format("{} learned from earlier runs", learned));
  }
  if (assumed > 0) {
    parts.push_back(fmt::format("{} assumed (their noise is not known yet)", assumed));
  }
  return parts.empty() ? "" : fmt::format("floors of layers: {}", fmt::join(parts, ", "));
}

std::string overall_text(const analysis::RunComparison::Overall& overall) {
  return fmt::format("geometric mean of {}: {} ({}): {}; {} slower, {} faster",
                     overall.metrics,
                     ratio_change_text(overall.metric),
                     change_interval_text(overall.metric),
                     to_text(overall.metric.verdict),
                     overall.slower,
                     overall.faster);
}

std::string applied_text(const analysis::ComparisonReport::AppliedExclusion& applied) {
  return fmt::format(
      "{}: {}",
      exclusion_text(applied.exclusion, applied.expired),
      applied.metrics.empty() ? "matches nothing" : counts_text(verdict_counts(applied.metrics)));
}

std::string failures_text(const analysis::RunComparison::NotCompared& each) {
  const bool same = each.baseline.reason == each.candidate.reason;
  return fmt::format("{}: {}{}{}",
                     to_text(each.candidate.kind),
                     each.baseline.reason,
                     same ? "" : " → ",
                     same ? "" : each.candidate.reason);
}

namespace {

/// Returns the name of a metric. A layer's name is its place and the command that measures it
/// again.
PageCell name_cell(const analysis::MetricComparison& metric,
                   const std::map<std::string, std::string>& places) {
  const std::string key = analysis::layer_key_of(metric);
  if (key.empty()) {
    return text_cell(metric.series);
  }
  PageCell cell =
      code_cell(named_key(key, places, results::external_name(key) ? key : layer_command(key)));
  cell.style = "layer-key";
  return cell;
}

/// Returns the largest causes of each metric, a line each, and how many are left out.
std::vector<std::string> cause_texts(std::span<const analysis::MetricComparison> metrics) {
  constexpr std::size_t kShownCauses = 3;  // of a metric
  constexpr double kShownShare = 0.01;     // of a metric's change
  std::vector<std::string> texts;
  std::size_t left_out = 0;
  for (const analysis::MetricComparison& metric : metrics) {
    std::vector<analysis::MetricComparison::Cause> causes = metric.causes;
    std::stable_sort(causes.begin(),
                     causes.end(),
                     [](const analysis::MetricComparison::Cause& left,
                        const analysis::MetricComparison::Cause& right) {
                       return std::abs(left.share) > std::abs(right.share);
                     });
    std::size_t shown = 0;
    for (const analysis::MetricComparison::Cause& cause : causes) {
      if (shown == kShownCauses || std::abs(cause.share) < kShownShare) {
        ++left_out;
        continue;
      }
      ++shown;
      texts.push_back(fmt::format("{}: {} ({:.0f} %): {}",
                                  metric.series,
                                  cause.cause,
                                  100.0 * cause.share,
                                  cause.evidence));
    }
  }
  if (left_out > 0) {
    texts.push_back(fmt::format("and {} smaller causes, all of them with --json", left_out));
  }
  return texts;
}

}  // namespace

PageCell::Tone tone_of(analysis::ComparisonVerdict verdict) {
  switch (verdict) {
    case analysis::ComparisonVerdict::kBroken:
    case analysis::ComparisonVerdict::kRegressed:
      return PageCell::Tone::kBad;
    case analysis::ComparisonVerdict::kImproved:
    case analysis::ComparisonVerdict::kEquivalent:
      return PageCell::Tone::kGood;
    case analysis::ComparisonVerdict::kInconclusive:
      return PageCell::Tone::kWarning;
  }
  return PageCell::Tone::kWarning;
}

void add_metric_table(const MetricList& metrics,
                      const std::map<std::string, std::string>& places,
                      Page& page) {
  const RatioPlot plot(metrics);
  std::vector<PageRow> rows;
  for (const analysis::MetricComparison* metric : metrics) {
    rows.push_back(
        {word_cell(std::string(to_text(metric->verdict)), tone_of(metric->verdict)),
         text_cell(std::string(to_text(metric->kind))),
         name_cell(*metric, places),
         number_cell(metric->ratio ? baseline_text(*metric) + " → " + candidate_text(*metric)
                                   : "–"),
         drawing_cell(
             plot.row(*metric),
             metric->ratio
                 ? fmt::format("{} ({})", ratio_change_text(*metric), change_interval_text(*metric))
                 : "–"),
         number_cell(detectable_text(*metric)),
         text_cell(page.extent() == Extent::kTerminal ? reason_text(*metric) : why_text(*metric))});
  }
  page.table({text_cell("verdict"),
              text_cell("kind"),
              text_cell("metric"),
              number_cell("baseline → candidate"),
              drawing_cell(plot.axis(), "change (95 %)"),
              number_cell("detectable"),
              text_cell("why")},
             rows);
}

void add_short_metrics(std::span<const analysis::MetricComparison> metrics,
                       const std::map<std::string, std::string>& places,
                       Page& page) {
  constexpr std::size_t kQuietDetails = 10;
  MetricList shown;
  std::size_t quiet = 0;
  for (const analysis::MetricComparison& metric : metrics) {
    const bool output = metric.kind == analysis::MetricKind::kAccuracy;
    const bool settled = !is_changed(metric) && !metric.levels;
    if (settled && (output || (analysis::is_detail(metric) && ++quiet > kQuietDetails))) {
      continue;
    }
    shown.push_back(&metric);
  }
  add_metric_table(shown, places, page);
  if (quiet > kQuietDetails) {
    page.paragraph(
        fmt::format("and {} more metrics of layers without a change, all of them with --json",
                    quiet - kQuietDetails));
  }
  page.list(cause_texts(metrics));
}

}  // namespace plumb::reporting
