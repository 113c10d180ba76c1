// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/comparison_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

namespace {

/// Parts of a name and the families that they indicate. The first part that fits counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kFamilies{
    {{"wino", "winograd"},
     {"ref", "reference"},
     {"brg", "brgemm"},
     {"1x1", "jit_1x1"},
     {"_dw", "jit_depthwise"},
     {"gemm", "gemm"},
     {"jit", "jit"},
     {"simple", "simple"},
     {"plumb", "plumb"}}};
constexpr std::string_view kInstructionSets[] = {"avx", "sse", "amx", "sve", "asimd"};

}  // namespace

RunComparison::Implementation implementation_name(std::string_view variant) {
  const std::string_view named = results::VariantId(variant).implementation();
  const std::string_view name = named.empty() ? variant : named;
  RunComparison::Implementation result;
  std::string_view kernel = name;
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) {
    const std::string_view last = name.substr(colon + 1);
    if (std::any_of(std::begin(kInstructionSets), std::end(kInstructionSets), [&](auto set) {
          return last.starts_with(set);
        })) {
      result.instruction_set = last;
      kernel = name.substr(0, colon);
    }
  }
  const auto family = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const auto& entry) {
    return kernel.find(entry.first) != std::string_view::npos;
  });
  result.family = family != kFamilies.end() ? family->second : kernel;
  return result;
}

namespace {

constexpr double kShownFrom = 2.0;  // standard errors from which a term of a model is a cause

std::string from_to(const std::string& before, const std::string& after) {
  return fmt::format("{} → {}", before.empty() ? "none" : before, after.empty() ? "none" : after);
}

}  // namespace

MetricComparison::Cause implementation_cause(const std::string& baseline_variant,
                                             const std::string& candidate_variant) {
  const RunComparison::Implementation before = implementation_name(baseline_variant);
  const RunComparison::Implementation after = implementation_name(candidate_variant);
  const std::string evidence = from_to(baseline_variant, candidate_variant);
  if (before.instruction_set != after.instruction_set) {
    return {"instruction set changed: " + from_to(before.instruction_set, after.instruction_set),
            1.0,
            evidence};
  }
  if (before.family != after.family) {
    return {
        "implementation family changed: " + from_to(before.family, after.family), 1.0, evidence};
  }
  if (baseline_variant != candidate_variant) {
    return {"implementation changed within the family " + before.family, 1.0, evidence};
  }
  return {"the same implementation is slower: " + before.family, 1.0, baseline_variant};
}

std::vector<MetricComparison::Cause> find_causes(const RunComparison::Attribution& attribution) {
  std::vector<MetricComparison::Cause> causes;
  const double whole = std::abs(attribution.delta_seconds);
  if (whole == 0.0) {
    return causes;
  }
  const double sign = attribution.delta_seconds > 0.0 ? 1.0 : -1.0;
  for (const RunComparison::Attribution::Term& term : attribution.layers) {
    if (std::abs(term.seconds) > kShownFrom * term.error && sign * term.seconds > 0.0) {
      causes.push_back({"layer " + term.layer,
                        sign * term.seconds / whole,
                        from_to(term.baseline_variant, term.candidate_variant)});
    }
  }
  const auto rest = [&](const char* name, double seconds) {
    if (seconds != 0.0) {
      causes.push_back({name, sign * seconds / whole, fmt::format("{:+.4g} s", seconds)});
    }
  };
  rest("reorders between layouts", attribution.reorder_seconds);
  rest("layers that only one side executes", attribution.unmatched_seconds);
  rest("unexplained", attribution.unexplained_seconds);
  return causes;
}

void RunComparison::FindingGroups::add(const MetricComparison::Cause& cause,
                                       const std::string& layer,
                                       double delta_seconds,
                                       const std::vector<std::string>& models) {
  RunComparison::Finding& finding = by_cause_[cause.cause];
  if (finding.layers.empty()) {
    finding.cause = cause.cause;
    finding.evidence = cause.evidence;
  }
  finding.layers.push_back(layer);
  finding.delta_seconds += delta_seconds;
  for (const std::string& model : models) {
    if (std::find(finding.models.begin(), finding.models.end(), model) == finding.models.end()) {
      finding.models.push_back(model);
    }
  }
}

std::vector<RunComparison::Finding> RunComparison::FindingGroups::findings() const {
  std::vector<RunComparison::Finding> result;
  for (const auto& [cause, finding] : by_cause_) {
    result.push_back(finding);
  }
  std::stable_sort(result.begin(), result.end(), [](const auto& one, const auto& two) {
    return one.delta_seconds > two.delta_seconds;
  });
  return result;
}

void choose_what_decides(std::span<MetricComparison* const> metrics) {
  const auto any = [&](const auto& wanted) {
    return std::any_of(
        metrics.begin(), metrics.end(), [&](const auto* metric) { return wanted(*metric); });
  };
  const auto of_kind = [](MetricKind kind) {
    return [kind](const MetricComparison& metric) { return metric.kind == kind; };
  };
  if (any([](const MetricComparison& metric) { return metric.decides; })) {
    return;
  }
  for (const MetricKind kind : {MetricKind::kEndToEnd, MetricKind::kBound, MetricKind::kLayer}) {
    if (any(of_kind(kind))) {
      for (MetricComparison* const metric : metrics) {
        metric->decides = metric->kind == kind;
      }
      return;
    }
  }
}

ComparisonVerdict verdict_of_all(std::span<const MetricComparison> metrics) {
  const auto any = [&](ComparisonVerdict verdict) {
    return std::any_of(metrics.begin(), metrics.end(), [&](const auto& metric) {
      const bool breaks =
          verdict == ComparisonVerdict::kBroken ||
          (verdict == ComparisonVerdict::kRegressed &&
           (metric.kind == MetricKind::kAccuracy || metric.kind == MetricKind::kLoad));
      return metric.verdict == verdict && (breaks || metric.decides);
    });
  };
  for (const ComparisonVerdict verdict : {ComparisonVerdict::kBroken,
                                          ComparisonVerdict::kRegressed,
                                          ComparisonVerdict::kInconclusive,
                                          ComparisonVerdict::kImproved,
                                          ComparisonVerdict::kEquivalent}) {
    if (any(verdict)) {
      return verdict;
    }
  }
  return ComparisonVerdict::kInconclusive;
}

std::optional<RunComparison::Overall> overall_change(std::span<const MetricComparison> metrics,
                                                     const ComparisonLimits& limits) {
  RunComparison::Overall change;
  std::vector<double> logs;
  double baseline = 0.0;
  double candidate = 0.0;
  for (const MetricComparison& metric : metrics) {
    if (metric.decides && metric.ratio && !metric.in_bytes && metric.baseline > 0.0 &&
        metric.candidate > 0.0) {
      logs.push_back(std::log(metric.candidate / metric.baseline));
      baseline += std::log(metric.baseline);
      candidate += std::log(metric.candidate);
      change.slower += logs.back() > 0.0 ? 1U : 0U;
      change.faster += logs.back() < 0.0 ? 1U : 0U;
    }
  }
  change.metrics = logs.size();
  if (change.metrics < 2) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(change.metrics);
  const double mean = (candidate - baseline) / count;
  double squares = 0.0;
  for (const double log : logs) {
    squares += (log - mean) * (log - mean);
  }
  const double of_metrics = squares / (count - 1.0) / count;
  // Both runs deviate, so the variance between runs counts twice.
  const double of_runs = 2.0 * LearnedNoise::kAssumed * LearnedNoise::kAssumed;
  const double variance = of_metrics + of_runs;
  // What is assumed about runs has many degrees of freedom (Welch and Satterthwaite).
  constexpr double kGiven = 1e6;
  const double freedom =
      variance * variance / (of_metrics * of_metrics / (count - 1.0) + of_runs * of_runs / kGiven);
  MetricComparison& metric = change.metric;
  metric.series = "geometric_mean";
  metric.kind = MetricKind::kOverall;
  metric.baseline = std::exp(baseline / count);
  metric.candidate = std::exp(candidate / count);
  metric.delta = metric.candidate - metric.baseline;
  metric.error = std::sqrt(variance) * metric.baseline;
  metric.p = test_change(
      metric, {.mean = mean, .variance = variance, .kept = 1.0, .freedom = freedom}, limits.alpha);
  metric.floor = {std::max(limits.end_to_end_floor, kEndToEndFloor),
                  MetricComparison::Floor::Source::kFixed};
  judge_alone(metric, *metric.p, {limits.alpha, metric.floor->relative, limits.run_margin});
  return change;
}

void put_changes_first(std::vector<MetricComparison>& metrics) {
  const auto rank = [](const MetricComparison& metric) {
    return metric.verdict == ComparisonVerdict::kBroken      ? 0
           : metric.verdict == ComparisonVerdict::kRegressed ? 1
           : metric.verdict == ComparisonVerdict::kImproved  ? 2
                                                             : 3;
  };
  std::stable_sort(metrics.begin(), metrics.end(), [&](const auto& one, const auto& other) {
    return rank(one) < rank(other);
  });
}

namespace {

/// Returns the words of a reason that are alike from run to run: those of letters alone.
std::vector<std::string> constant_words(const std::string& reason) {
  std::vector<std::string> words;
  std::istringstream text(reason);
  for (std::string word; text >> word;) {
    while (!word.empty() && std::ispunct(static_cast<unsigned char>(word.back())) != 0) {
      word.pop_back();
    }
    if (!word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
          return std::isalpha(c) != 0;
        })) {
      words.push_back(word);
    }
  }
  return words;
}

std::string failure_text(const results::Outcome& outcome) {
  return outcome.reason.empty() ? std::string(to_text(outcome.kind))
                                : fmt::format("{}: {}", to_text(outcome.kind), outcome.reason);
}

}  // namespace

bool failed_alike(const results::Outcome& baseline, const results::Outcome& candidate) {
  return baseline.kind == candidate.kind &&
         constant_words(baseline.reason) == constant_words(candidate.reason);
}

void judge_failures(const results::Outcome& baseline,
                    const results::Outcome& candidate,
                    MetricComparison& metric) {
  metric.verdict = severity(candidate.kind) > severity(baseline.kind)
                       ? ComparisonVerdict::kBroken
                       : ComparisonVerdict::kInconclusive;
  metric.reason = fmt::format("failed in both runs, but in different ways: {}; now {}",
                              failure_text(baseline),
                              failure_text(candidate));
}

namespace {

constexpr const char* kWorkerDigest = "worker.sha256";

// Facts that change from run to run by themselves: clocks, load, memory in use, temperature.
constexpr std::array<std::string_view, 9> kReadings{"frequency.mhz_now",
                                                    "gpu.clock_now_hertz",
                                                    "gpu.free_memory_bytes",
                                                    "gpu.held_memory_bytes",
                                                    "gpu.memory_clock_now_hertz",
                                                    "gpu.other_processes",
                                                    "gpu.temperature_celsius",
                                                    "load",
                                                    "import"};

/// Returns whether a fact is only a name or a path of something that another fact identifies by its
/// content.
bool is_name(const std::string& fact) {
  return fact == "boot.id" || fact == "stack.name" || fact == "plumb.commit" ||
         fact == "plumb.version" || fact.ends_with(".path");
}

}  // namespace

std::vector<EnvironmentDifference> environment_diff(const results::Environment& baseline,
                                                    const results::Environment& candidate) {
  std::vector<EnvironmentDifference> result;
  const auto add = [&](const results::Facts& left, const results::Facts& right, bool identity) {
    std::set<std::string> names;
    for (const results::Facts* facts : {&left, &right}) {
      for (const auto& [name, value] : *facts) {
        names.insert(name);
      }
    }
    for (const std::string& name : names) {
      const auto before = left.find(name);
      const auto after = right.find(name);
      const std::string old = before == left.end() ? "" : before->second;
      const std::string now = after == right.end() ? "" : after->second;
      if (old != now) {
        result.push_back({name, old, now, identity});
      }
    }
  };
  add(baseline.identity, candidate.identity, true);
  add(baseline.facts, candidate.facts, false);
  return result;
}

bool is_varied(const std::string& fact, std::span<const std::string> varied) {
  return std::any_of(varied.begin(), varied.end(), [&](const std::string& name) {
    return (name == "stack" && results::is_of_stack(fact)) || fact == name ||
           fact.starts_with(name + ".");
  });
}

bool is_reading(const std::string& fact) {
  return fact.starts_with("measure.") || fact.starts_with("import.") ||
         std::find(kReadings.begin(), kReadings.end(), fact) != kReadings.end();
}

bool names_device(const std::string& fact) {
  return fact == "gpu.uuid" || fact == "gpu.index" || fact == "gpu.bus";
}

bool is_same_software(const results::Environment& baseline, const results::Environment& candidate) {
  const std::vector<EnvironmentDifference> all = environment_diff(baseline, candidate);
  return baseline.facts.contains(kWorkerDigest) && candidate.facts.contains(kWorkerDigest) &&
         std::all_of(all.begin(), all.end(), [](const EnvironmentDifference& each) {
           return names_device(each.name) ||
                  (!each.identity && (is_reading(each.name) || is_name(each.name)));
         });
}

}  // namespace plumb::analysis
