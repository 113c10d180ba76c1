// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/paired_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {
namespace {

constexpr double kTail = 0.025;  // of an interval, each side, over all looks

PairedSamples part(const PairedSamples& samples, std::size_t begin, std::size_t end) {
  const auto cut = [&](const std::vector<double>& values) {
    return std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                               values.begin() + static_cast<std::ptrdiff_t>(end));
  };
  return {samples.name, cut(samples.baseline), cut(samples.candidate)};
}

/// Returns the share of the data at each look from `first` on, relative to the last look. Data up
/// to look `first − 1` do not count, so these are shares of the new pairs. With `first` 0, all
/// pairs count.
std::vector<double> shares(const std::vector<std::size_t>& looks, std::size_t first) {
  const std::size_t before = first == 0 ? 0 : looks[first - 1];
  std::vector<double> result;
  for (std::size_t look = first; look < looks.size(); ++look) {
    result.push_back(static_cast<double>(looks[look] - before) /
                     static_cast<double>(looks.back() - before));
  }
  return result;
}

/// State of one call: the family with the findings of each look so far.
class Sequence {
 public:
  Sequence(std::span<const SequentialRule::Pairs> family,
           const SequentialRule::Design& design,
           const stats::AlphaSpending& confirming,
           const std::vector<double>& tails,
           const SequentialRule::Limits& limits)
      : family_(family),
        design_(design),
        confirming_(confirming),
        tails_(tails),
        limits_(limits),
        members_(family.size()) {}

  std::vector<SequentialRule::Result> judge() {
    screen();
    for (std::size_t look = 1; look < design_.looks.size(); ++look) {
      confirm(look);
    }
    std::vector<SequentialRule::Result> results;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      results.push_back(std::move(members_[i].result));
    }
    return results;
  }

 private:
  struct Member {
    SequentialRule::Result result;
    bool suspect = false;
    bool slower = false;
    double floor = 0.0;
    double p = 1.0;  // of the whole procedure, so far
  };

  [[nodiscard]] PairedSamples::Metric look_at(const PairedSamples& samples) const {
    PairedSamples::Metric metric = paired_metric(samples, samples.name, limits_.kind);
    if (metric.log_ratio && limits_.moderated) {
      metric.log_ratio = stats::moderated(*metric.log_ratio, prior_);
    }
    return metric;
  }

  void screen() {
    std::vector<stats::TrimmedMean> samples;
    for (const SequentialRule::Pairs& staged : family_) {
      const PairedSamples::Metric metric =
          paired_metric(part(staged.pairs, 0, screened(staged)), staged.pairs.name, limits_.kind);
      if (metric.log_ratio) {
        samples.push_back(*metric.log_ratio);
      }
    }
    prior_ = stats::variance_prior(samples);
    for (std::size_t i = 0; i < family_.size(); ++i) {
      Member& member = members_[i];
      member.floor = std::max(limits_.change.floor, family_[i].floor.relative);
      PairedSamples::Metric metric = look_at(part(family_[i].pairs, 0, screened(family_[i])));
      member.result.metric = metric.result;
      member.result.open = true;
      if (!metric.log_ratio) {
        continue;
      }
      const double p = test_change(member.result.metric, *metric.log_ratio, limits_.change.level);
      member.suspect = p < design_.screen_level;
      member.slower = metric.log_ratio->mean > 0.0;
      if (equivalent(member, metric, 0)) {
        decide(member, ComparisonVerdict::kEquivalent, design_.looks.front());
      }
    }
    correct();
  }

  void confirm(std::size_t look) {
    const std::size_t fresh = design_.looks[look] - design_.looks.front();
    std::vector<std::optional<PairedSamples::Metric>> news(family_.size());
    for (std::size_t i = 0; i < family_.size(); ++i) {
      const SequentialRule::Pairs& staged = family_[i];
      const std::size_t pairs =
          std::min(staged.pairs.baseline.size(), staged.pairs.candidate.size());
      if (!members_[i].result.open || pairs < screened(staged) + fresh) {
        continue;
      }
      const std::size_t end = screened(staged) + fresh;
      news[i] = look_at(part(staged.pairs, screened(staged), end));
      update(members_[i], look, *news[i], look_at(part(staged.pairs, 0, end)));
    }
    correct();
    for (std::size_t i = 0; i < family_.size(); ++i) {
      if (news[i]) {
        conclude(members_[i], look, *news[i], screened(family_[i]) + fresh);
      }
    }
  }

  /// Updates one metric with the pairs of a look.
  void update(Member& member,
              std::size_t look,
              const PairedSamples::Metric& fresh,
              const PairedSamples::Metric& all) {
    member.result.metric = all.result;
    if (!all.log_ratio || !fresh.log_ratio) {
      return;
    }
    test_change(member.result.metric, *all.log_ratio, limits_.change.level);
    if (member.suspect) {
      MetricComparison scratch;
      const double two_sided = test_change(scratch, *fresh.log_ratio, limits_.change.level);
      const bool agrees = (fresh.log_ratio->mean > 0.0) == member.slower;
      const double p = agrees ? two_sided / 2.0 : 1.0 - two_sided / 2.0;
      // Screening and new pairs are independent: a false alarm must pass both, so the levels
      // multiply.
      member.p = std::min(member.p, design_.screen_level * confirming_.total_p(look - 1, p));
    }
    if (equivalent(member, all, look)) {
      decide(member, ComparisonVerdict::kEquivalent, design_.looks[look]);
    }
  }

  void conclude(Member& member,
                std::size_t look,
                const PairedSamples::Metric& fresh,
                std::size_t pairs) {
    SequentialRule::Result& result = member.result;
    if (member.suspect && fresh.log_ratio && *result.metric.q < limits_.change.level) {
      MetricComparison change = fresh.result;
      test_change(change, *fresh.log_ratio, limits_.change.level);
      change.q = result.metric.q;
      if (std::abs(*change.ratio - 1.0) >= member.floor && (*change.ratio > 1.0) == member.slower) {
        result.metric = change;
        decide(member,
               member.slower ? ComparisonVerdict::kRegressed : ComparisonVerdict::kImproved,
               pairs);
        return;
      }
    }
    if (look + 1 == design_.looks.size()) {
      result.open = false;  // after the last look it stays undecided
    }
  }

  [[nodiscard]] bool equivalent(const Member& member,
                                const PairedSamples::Metric& metric,
                                std::size_t look) const {
    const double within = std::log1p(std::max(limits_.change.margin, member.floor));
    const stats::TrimmedMean& sample = *metric.log_ratio;
    const double reach = stats::t_quantile(1.0 - tails_[look], sample.freedom) *
                         std::sqrt(sample.variance / sample.kept);
    return std::abs(sample.mean) + reach < within;
  }

  void correct() {
    std::vector<double> p_values;
    for (const Member& member : members_) {
      p_values.push_back(member.p);
    }
    const std::vector<double> q = stats::false_discovery_q(p_values);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      // A decided metric keeps the q with which it was decided.
      if (members_[i].result.open && members_[i].result.metric.ratio) {
        members_[i].result.metric.q = q[i];
      }
    }
  }

  static void decide(Member& member, ComparisonVerdict verdict, std::size_t pairs) {
    member.result.metric.verdict = verdict;
    member.result.decided_at = pairs;
    member.result.open = false;
    if (!member.result.metric.q) {
      member.result.metric.q = 1.0;
    }
  }

  [[nodiscard]] static std::size_t screened(const SequentialRule::Pairs& staged) {
    return std::min(
        {staged.screening, staged.pairs.baseline.size(), staged.pairs.candidate.size()});
  }

  std::span<const SequentialRule::Pairs> family_;
  const SequentialRule::Design& design_;
  const stats::AlphaSpending& confirming_;
  const std::vector<double>& tails_;
  const SequentialRule::Limits& limits_;
  std::vector<Member> members_;
  stats::TrimmedMean::Prior prior_;
};

}  // namespace

SequentialRule::Design design_for(std::size_t pairs_at_most) {
  PLUMB_CHECK(pairs_at_most >= kMinDesign);
  SequentialRule::Design design;
  const auto share = [&](double part) {
    return static_cast<std::size_t>(std::lround(part * static_cast<double>(pairs_at_most)));
  };
  design.looks = {std::max(kMinPairs, share(0.3))};
  for (const double part : {0.5, 0.75}) {
    const std::size_t pairs = share(part);
    if (pairs >= design.looks.front() + kMinPairs && pairs > design.looks.back() &&
        pairs < pairs_at_most) {
      design.looks.push_back(pairs);
    }
  }
  design.looks.push_back(pairs_at_most);
  return design;
}

SequentialRule::SequentialRule(SequentialRule::Design design)
    : design_(std::move(design)),
      confirming_(shares(design_.looks, 1)),
      tails_(stats::spending_limits(shares(design_.looks, 0), kTail)) {
  PLUMB_CHECK(design_.looks.size() >= 2);
}

std::vector<SequentialRule::Result> SequentialRule::judge(
    std::span<const SequentialRule::Pairs> family, const SequentialRule::Limits& limits) const {
  return Sequence(family, design_, confirming_, tails_, limits).judge();
}

namespace {

constexpr double kNetChange = 2.0;  // standard errors that the net change of layers must have

PairedSamples::Metric look_at(const PairedSamples& samples, bool layer) {
  return layer ? paired_metric(samples, results::layer_series(samples.name), MetricKind::kLayer)
               : paired_metric(samples, "end_to_end", MetricKind::kEndToEnd);
}

void judge_layers(std::vector<PairedSamples::Metric>& layers, const ComparisonLimits& limits) {
  std::vector<stats::TrimmedMean> samples;
  for (const PairedSamples::Metric& layer : layers) {
    if (layer.log_ratio) {
      samples.push_back(*layer.log_ratio);
    }
  }
  const stats::TrimmedMean::Prior prior = stats::variance_prior(samples);
  std::vector<MetricComparison::FamilyMember> family;
  for (PairedSamples::Metric& layer : layers) {
    if (layer.log_ratio) {
      const double p =
          test_change(layer.result, stats::moderated(*layer.log_ratio, prior), limits.alpha);
      family.push_back({&layer.result, p, limits.of_layer()});
    }
  }
  judge_family(family);
}

/// Judges the changed layers by their sum, since cost that moved from one layer to another is no
/// change.
std::optional<ComparisonVerdict> net_verdict(const std::vector<PairedSamples::Metric>& layers) {
  double delta = 0.0;
  double square = 0.0;
  for (const PairedSamples::Metric& layer : layers) {
    if (layer.result.verdict == ComparisonVerdict::kRegressed ||
        layer.result.verdict == ComparisonVerdict::kImproved) {
      delta += layer.result.delta;
      square += layer.result.error * layer.result.error;
    }
  }
  if (delta == 0.0 || std::abs(delta) <= kNetChange * std::sqrt(square)) {
    return std::nullopt;
  }
  return delta > 0.0 ? ComparisonVerdict::kRegressed : ComparisonVerdict::kImproved;
}

ComparisonVerdict judge_question(const std::optional<PairedSamples::Metric>& whole,
                                 const std::vector<PairedSamples::Metric>& layers) {
  if (whole && (whole->result.verdict == ComparisonVerdict::kRegressed ||
                whole->result.verdict == ComparisonVerdict::kImproved)) {
    return whole->result.verdict;
  }
  if (const auto net = net_verdict(layers)) {
    return *net;
  }
  if (whole) {
    return whole->result.verdict;
  }
  const bool all =
      !layers.empty() &&
      std::all_of(layers.begin(), layers.end(), [](const PairedSamples::Metric& layer) {
        return layer.result.verdict != ComparisonVerdict::kInconclusive;
      });
  return all ? ComparisonVerdict::kEquivalent : ComparisonVerdict::kInconclusive;
}

/// Combines judged metrics: the verdict of the whole and the attribution.
PairedComparison make_answer(const PairedComparison::Question& question,
                             std::optional<PairedSamples::Metric> whole,
                             std::vector<PairedSamples::Metric> layers) {
  PairedComparison answer;
  answer.id = question.id;
  answer.verdict = judge_question(whole, layers);
  if (whole && whole->log_ratio && !layers.empty()) {
    PairedComparison::Attribution attribution;
    attribution.delta_seconds = whole->result.delta;
    attribution.unexplained_seconds = whole->result.delta;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].log_ratio) {
        attribution.layers[question.layers[i].name] = layers[i].result.delta;
        attribution.unexplained_seconds -= layers[i].result.delta;
      }
    }
    answer.attribution = std::move(attribution);
  }
  if (whole) {
    answer.metrics.push_back(std::move(whole->result));
  }
  for (PairedSamples::Metric& layer : layers) {
    answer.metrics.push_back(std::move(layer.result));
  }
  return answer;
}

/// Judges one family by the sequential rule. A metric that cannot be compared keeps its reason.
void judge_in_sequence(std::span<const PairedSamples> samples,
                       const SequentialRule& rule,
                       const SequentialRule::Limits& limits,
                       std::vector<PairedSamples::Metric>& metrics) {
  std::vector<SequentialRule::Pairs> family;
  for (const PairedSamples& each : samples) {
    family.push_back({each, rule.looks().front()});
  }
  std::vector<SequentialRule::Result> results = rule.judge(family, limits);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].log_ratio) {
      MetricComparison& judged = results[i].metric;
      judged.series = metrics[i].result.series;
      judged.kind = metrics[i].result.kind;
      metrics[i].result = std::move(judged);
    }
  }
}

}  // namespace

PairedComparison compare_pairs(const PairedComparison::Question& question,
                               const ComparisonLimits& limits) {
  std::optional<PairedSamples::Metric> whole;
  if (question.end_to_end) {
    whole = look_at(*question.end_to_end, false);
    if (whole->log_ratio) {
      judge_alone(whole->result,
                  test_change(whole->result, *whole->log_ratio, limits.alpha),
                  limits.of_model());
    }
  }
  std::vector<PairedSamples::Metric> layers;
  for (const PairedSamples& layer : question.layers) {
    layers.push_back(look_at(layer, true));
  }
  judge_layers(layers, limits);
  return make_answer(question, std::move(whole), std::move(layers));
}

PairedComparison compare_pairs_in_sequence(const PairedComparison::Question& question,
                                           const ComparisonLimits& limits,
                                           const SequentialRule& rule) {
  std::optional<PairedSamples::Metric> whole;
  if (question.end_to_end) {
    std::vector<PairedSamples::Metric> one{look_at(*question.end_to_end, false)};
    judge_in_sequence(
        {&*question.end_to_end, 1}, rule, {MetricKind::kEndToEnd, limits.of_model()}, one);
    whole = std::move(one.front());
  }
  std::vector<PairedSamples::Metric> layers;
  for (const PairedSamples& layer : question.layers) {
    layers.push_back(look_at(layer, true));
  }
  judge_in_sequence(question.layers, rule, {MetricKind::kLayer, limits.of_layer(), true}, layers);
  return make_answer(question, std::move(whole), std::move(layers));
}

}  // namespace plumb::analysis
