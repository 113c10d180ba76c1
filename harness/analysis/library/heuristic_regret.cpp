// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/library/heuristic_regret.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {
namespace {

bool overlap(const measure::Interval& a, const measure::Interval& b) {
  return a.low <= b.high && b.low <= a.high;
}

std::string dtype_of(const model::LayerKey& key) {
  for (const auto& input : model::parse_key(key).inputs) {
    if (input) {
      return std::string(to_text(input->dtype));
    }
  }
  return "none";
}

/// Returns the library's own rows of one cache mode that have the layout of its choice.
std::vector<results::StoredMeasurement> comparable_rows(
    const std::vector<results::StoredMeasurement>& rows, results::CacheMode cache) {
  std::map<model::LayerKey, std::string> layouts;
  for (const results::StoredMeasurement& row : rows) {
    if (row.measurement.library_choice) {
      layouts[row.measurement.key] = results::VariantId(row.measurement.variant).layout();
    }
  }
  std::vector<results::StoredMeasurement> kept;
  for (const results::StoredMeasurement& row : rows) {
    const results::Measurement& measurement = row.measurement;
    const results::VariantId variant(measurement.variant);
    const auto layout = layouts.find(measurement.key);
    if (measurement.cache == cache && model::is_layer_key(measurement.key.text) &&
        !variant.is_own() && (layout == layouts.end() || layout->second == variant.layout())) {
      kept.push_back(row);
    }
  }
  return kept;
}

/// Counts the variants of a key that have a time, of a race or in full.
std::size_t timed_variants(const ResultSet& results, const model::LayerKey& key) {
  std::set<std::string_view> names;
  for (const results::StoredMeasurement* row : results.rows_of(key)) {
    if (row->measurement.outcome.timed() && !row->measurement.reference_implementation) {
      names.insert(row->measurement.variant);
    }
  }
  return names.size();
}

/// Returns a quantile by linear interpolation between the values beside p · (n − 1).
double compute_quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

void sum_up(HeuristicRegret::Group& group) {
  std::sort(
      group.keys.begin(),
      group.keys.end(),
      [](const HeuristicRegret::Group::KeyRegret& a, const HeuristicRegret::Group::KeyRegret& b) {
        return std::tie(b.ratio, a.key) < std::tie(a.ratio, b.key);
      });
  if (group.keys.empty()) {
    return;
  }
  std::vector<double> ratios;
  std::transform(group.keys.rbegin(),
                 group.keys.rend(),
                 std::back_inserter(ratios),
                 [](const HeuristicRegret::Group::KeyRegret& key) { return key.ratio; });
  const auto n = static_cast<double>(ratios.size());
  group.mean = *stats::geometric_mean(ratios);
  group.p50 = compute_quantile(ratios, 0.50);
  group.p90 = compute_quantile(ratios, 0.90);
  group.p99 = compute_quantile(ratios, 0.99);
  group.share_above =
      static_cast<double>(std::count_if(
          ratios.begin(), ratios.end(), [](double ratio) { return ratio > kNotableRegret; })) /
      n;
}

}  // namespace

HeuristicRegret heuristic_regret(const results::RunRecord& run,
                                 const std::vector<results::StoredMeasurement>& rows,
                                 results::CacheMode cache) {
  const results::Facts& identity = run.header.environment.identity;
  HeuristicRegret regret{.run = run.header.id,
                         .suite = run.header.suite,
                         .stack = run.header.stack,
                         .library = results::fact_of(identity, "library"),
                         .device = results::device_model(run.header.environment),
                         .threads = results::fact_of(identity, "threads"),
                         .cache = cache,
                         .groups = {}};
  const ResultSet results(comparable_rows(rows, cache));
  std::set<model::LayerKey> keys;
  for (const results::StoredMeasurement& row : results.rows()) {
    keys.insert(row.measurement.key);
  }
  std::map<std::string, HeuristicRegret::Group> groups;
  for (const model::LayerKey& key : keys) {
    const std::string dtype = dtype_of(key);
    HeuristicRegret::Group& group = groups[dtype];
    group.dtype = dtype;
    const auto choice = results.library_choice(key, cache);
    const auto best = results.best(key, cache);
    if (!choice || !best || best->time.median <= Seconds(0.0)) {
      ++group.not_measured;
    } else if (timed_variants(results, key) < 2) {
      ++group.no_choice;
    } else {
      HeuristicRegret::Group::KeyRegret one{key, *choice, *best, 1.0, false};
      if (best->time.median < choice->time.median) {
        one.within = overlap(best->time.interval, choice->time.interval);
        one.ratio = one.within ? 1.0 : choice->time.median / best->time.median;
      } else {
        one.best = *choice;
      }
      group.within += one.within ? 1 : 0;
      group.keys.push_back(std::move(one));
    }
  }
  for (auto& [dtype, group] : groups) {
    sum_up(group);
    regret.groups.push_back(std::move(group));
  }
  return regret;
}

}  // namespace plumb::analysis
