// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/aa_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "harness/base/error.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {
namespace {

constexpr double kDeviations = 3.0;
constexpr double kBandTail = 0.005;  // each side of the 99% band
constexpr std::array kAlphas{0.05, 0.01};
constexpr double kPowerAlpha = 0.01;
constexpr std::array kChanges{0.01, 0.02, 0.05};

using Process = NoiseReport::Study::Metric::Process;

double compute_mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_around(std::span<const double> values, double mean) {
  return std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) {
    return sum + (value - mean) * (value - mean);
  });
}

/// Returns the correlation of neighbours in groups of values, each around its own mean.
double neighbour_correlation(std::span<const std::vector<double>> groups) {
  double products = 0.0;
  double squares = 0.0;
  for (const std::vector<double>& values : groups) {
    const double mean = compute_mean(values);
    squares += squares_around(values, mean);
    for (std::size_t i = 1; i < values.size(); ++i) {
      products += (values[i - 1] - mean) * (values[i] - mean);
    }
  }
  return squares > 0.0 ? products / squares : 0.0;
}

bool is_usable(const Process& process) {
  return !process.samples.empty() &&
         std::all_of(process.samples.begin(), process.samples.end(), [](double time) {
           return time > 0.0 && std::isfinite(time);
         });
}

/// Sums of squares within groups, with their degrees of freedom.
struct PooledVariance {
  double squares = 0.0;
  double freedom = 0.0;

  void add(std::span<const double> values) {
    squares += squares_around(values, compute_mean(values));
    freedom += static_cast<double>(values.size()) - 1.0;
  }
  [[nodiscard]] double variance() const { return freedom > 0.0 ? squares / freedom : 0.0; }
};

NoiseReport::Study::MetricNoise compute_noise(const NoiseReport::Study::Metric& metric) {
  NoiseReport::Study::MetricNoise noise;
  noise.series = metric.series;
  noise.kind = metric.kind;
  noise.pairs = metric.pairs.size();
  std::vector<std::vector<double>> samples;              // ln, by process
  std::map<std::string, std::vector<double>> day_means;  // of processes, by day
  std::map<std::string, std::vector<double>> day_medians;
  std::vector<double> medians;
  PooledVariance within;
  double error_of_means = 0.0;  // Σ 1/n over processes
  for (const auto& [first, second] : metric.pairs) {
    for (const Process* const process : {&first, &second}) {
      std::vector<double>& logs = samples.emplace_back();
      for (const double time : process->samples) {
        logs.push_back(std::log(time));
      }
      within.add(logs);
      error_of_means += 1.0 / static_cast<double>(logs.size());
      day_means[process->day].push_back(compute_mean(logs));
      const double median = compute_median(logs);
      day_medians[process->day].push_back(median);
      medians.push_back(median);
    }
  }
  PooledVariance means;
  PooledVariance of_medians;
  std::vector<double> days;
  double error_of_days = 0.0;  // Σ 1/processes over days
  std::vector<std::vector<double>> in_order;
  for (const auto& [day, values] : day_means) {
    means.add(values);
    of_medians.add(day_medians[day]);
    days.push_back(compute_mean(values));
    error_of_days += 1.0 / static_cast<double>(values.size());
    in_order.push_back(day_medians[day]);
  }
  const auto processes = static_cast<double>(samples.size());
  const auto day_count = static_cast<double>(days.size());
  noise.days = days.size();
  noise.median = std::exp(compute_median(medians));
  noise.within = std::sqrt(within.variance());
  // The variance of process means includes that of their samples ÷ n, which is subtracted here.
  noise.between =
      std::sqrt(std::max(0.0, means.variance() - within.variance() * error_of_means / processes));
  if (days.size() > 1) {
    const double spread = squares_around(days, compute_mean(days)) / (day_count - 1.0);
    noise.daily = std::sqrt(std::max(0.0, spread - means.variance() * error_of_days / day_count));
  }
  noise.process = std::sqrt(of_medians.variance());
  noise.autocorrelation = neighbour_correlation(samples);
  noise.drift = neighbour_correlation(in_order);
  noise.floor =
      std::max({kMinLayerFloor, kDeviations * noise.process, metric.resolution / noise.median});
  return noise;
}

/// Draw of a pair: its index, and whether its sides are swapped.
struct Draw {
  std::size_t pair = 0;
  bool turned = false;
};

/// Resampling of pseudo comparisons. Each takes the same rounds for every metric, as a real one
/// does.
class Resampling {
 public:
  Resampling(std::span<const NoiseReport::Study::Metric> metrics,
             const NoiseReport::Study::Plan& plan)
      : plan_(plan), random_(plan.seed) {
    for (const NoiseReport::Study::Metric& metric : metrics) {
      PairedSamples& samples = medians_.emplace_back();
      samples.name = metric.series;
      for (const auto& [first, second] : metric.pairs) {
        samples.baseline.push_back(compute_median(first.samples));
        samples.candidate.push_back(compute_median(second.samples));
      }
      pairs_ = std::min(pairs_, metric.pairs.size());
    }
  }

  void run(NoiseReport::Study& result) {
    result.comparisons = plan_.comparisons;
    result.pairs = std::min(plan_.pairs, pairs_);
    std::array<double, kAlphas.size()> alarms{};
    std::vector<std::array<double, kChanges.size()>> found(medians_.size());
    std::size_t family = 0;
    for (std::size_t i = 0; i < plan_.comparisons; ++i) {
      const PairedComparison::Question question = drawn(result.pairs);
      const ComparisonVerdict verdict = compare_pairs(question, {}).verdict;
      family += verdict == ComparisonVerdict::kRegressed || verdict == ComparisonVerdict::kImproved;
      for (std::size_t m = 0; m < question.layers.size(); ++m) {
        count(question.layers[m], alarms, found[m]);
      }
    }
    const double comparisons = static_cast<double>(plan_.comparisons);
    const double tests = comparisons * static_cast<double>(medians_.size());
    result.family_alarms = static_cast<double>(family) / comparisons;
    for (std::size_t a = 0; a < kAlphas.size(); ++a) {
      const boost::math::binomial band(comparisons, kAlphas.at(a));
      result.alarms.push_back(
          {.alpha = kAlphas.at(a),
           .rate = alarms.at(a) / tests,
           .low = boost::math::quantile(band, kBandTail) / comparisons,
           .high = boost::math::quantile(complement(band, kBandTail)) / comparisons});
    }
    for (std::size_t c = 0; c < kChanges.size(); ++c) {
      NoiseReport::Study::PowerPoint point{.change = kChanges.at(c), .found = 0.0, .least = 1.0};
      for (const auto& metric : found) {
        point.found += metric.at(c) / tests;
        point.least = std::min(point.least, metric.at(c) / comparisons);
      }
      result.power.push_back(point);
    }
  }

 private:
  PairedComparison::Question drawn(std::size_t pairs) {
    std::vector<Draw> draws(pairs_);
    for (std::size_t i = 0; i < draws.size(); ++i) {
      draws[i] = {i, (random_() & 1U) != 0};
    }
    for (std::size_t i = 0; i < pairs; ++i) {
      // The bias of the remainder is one part in 2^50.
      std::swap(draws[i], draws[i + random_() % (draws.size() - i)]);
    }
    PairedComparison::Question question;
    question.id = "self";
    for (const PairedSamples& all : medians_) {
      PairedSamples& samples = question.layers.emplace_back();
      samples.name = all.name;
      for (std::size_t i = 0; i < pairs; ++i) {
        const double first = all.baseline[draws[i].pair];
        const double second = all.candidate[draws[i].pair];
        samples.baseline.push_back(draws[i].turned ? second : first);
        samples.candidate.push_back(draws[i].turned ? first : second);
      }
    }
    return question;
  }

  static void count(const PairedSamples& samples,
                    std::array<double, kAlphas.size()>& alarms,
                    std::array<double, kChanges.size()>& found) {
    const PairedSamples::Metric tested = paired_metric(samples, samples.name, MetricKind::kLayer);
    if (!tested.log_ratio) {
      return;
    }
    const stats::TrimmedMean& log_ratio = *tested.log_ratio;
    const double error = std::sqrt(log_ratio.variance / log_ratio.kept);
    const auto p_of = [&](double mean) {
      return error > 0.0 ? stats::two_sided_p(mean / error, log_ratio.freedom)
                         : (mean == 0.0 ? 1.0 : 0.0);
    };
    const double p = p_of(log_ratio.mean);
    for (std::size_t a = 0; a < kAlphas.size(); ++a) {
      alarms.at(a) += p < kAlphas.at(a) ? 1.0 : 0.0;
    }
    for (std::size_t c = 0; c < kChanges.size(); ++c) {
      const double slower = log_ratio.mean + std::log1p(kChanges.at(c));
      found.at(c) += slower > 0.0 && p_of(slower) < kPowerAlpha ? 1.0 : 0.0;
    }
  }

  const NoiseReport::Study::Plan& plan_;
  std::mt19937_64 random_;
  std::vector<PairedSamples> medians_;
  std::size_t pairs_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace

NoiseReport::Study calibrate_noise(std::span<const NoiseReport::Study::Metric> metrics,
                                   const NoiseReport::Study::Plan& plan) {
  std::vector<NoiseReport::Study::Metric> usable;
  for (const NoiseReport::Study::Metric& metric : metrics) {
    NoiseReport::Study::Metric whole = metric;
    std::erase_if(whole.pairs, [](const auto& pair) {
      return !is_usable(pair.first) || !is_usable(pair.second);
    });
    if (whole.pairs.size() >= kMinCalibrationPairs) {
      usable.push_back(std::move(whole));
    }
  }
  if (usable.empty()) {
    throw Error(
        Error::Kind::kTryAgain,
        fmt::format("no metric has {} complete pairs: measure more pairs", kMinCalibrationPairs));
  }
  NoiseReport::Study result;
  for (const NoiseReport::Study::Metric& metric : usable) {
    result.metrics.push_back(compute_noise(metric));
  }
  Resampling(usable, plan).run(result);
  return result;
}

}  // namespace plumb::analysis
