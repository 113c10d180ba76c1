// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/micro_batch/layer_division.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "harness/analysis/micro_batch/batch_division.hpp"
#include "harness/model/key/layer_batch.hpp"
#include "harness/results/division/divided_variant.hpp"

namespace plumb::analysis {
namespace {

/// Returns the largest workspace that rows of a variant report.
Bytes workspace_of(const ResultSet& results,
                   const model::LayerKey& key,
                   const std::string& variant) {
  Bytes workspace;
  for (const results::StoredMeasurement* row : results.rows_of(key)) {
    if (row->measurement.variant == variant) {
      workspace = std::max(workspace, row->measurement.workspace);
    }
  }
  return workspace;
}

/// Returns the time that counts for one size. Absent: nothing keeps the cap.
std::optional<KeyTime> time_within(const ResultSet& results,
                                   const model::LayerKey& key,
                                   Bytes cap) {
  const auto keeps = [&](const KeyTime& time) {
    return workspace_of(results, key, time.variant) <= cap;
  };
  std::optional<KeyTime> choice = results.library_choice(key, results::CacheMode::kNone);
  if (choice && keeps(*choice)) {
    return choice;
  }
  const std::vector<KeyTime> all = results.variant_times(key, results::CacheMode::kNone);
  const auto fastest = std::find_if(all.begin(), all.end(), keeps);
  return fastest == all.end() ? std::nullopt : std::optional(*fastest);
}

/// Writes the variant of parts, which come largest first.
std::string text_of(const std::vector<PartKernel>& parts) {
  std::vector<results::BatchParts> equal;
  for (const PartKernel& part : parts) {
    if (!equal.empty() && equal.back().batch == part.batch &&
        equal.back().variant == part.variant) {
      ++equal.back().count;
    } else {
      equal.push_back({1, part.batch, part.variant});
    }
  }
  return results::divided_variant(equal);
}

/// What it takes to add the results of one part to those of the parts before.
struct Additions {
  std::vector<LayerDivision::Step> steps;
  Seconds time{};
  Bytes bytes;          ///< that hold the part's results
  std::string missing;  ///< the first layer without a time

  Additions(const ResultSet& results, const model::LayerSpec& spec) {
    for (const model::LayerKey& key : model::part_additions(spec)) {
      const auto choice = results.library_choice(key, results::CacheMode::kNone);
      if (!choice) {
        missing = missing.empty() ? key.text : missing;
        continue;
      }
      steps.push_back({key, *choice});
      time += choice->time.median;
      bytes += model::byte_size(model::parse_key(key).outputs.at(0));
    }
  }
};

}  // namespace

std::vector<std::int64_t> part_sizes(const model::LayerSpec& spec, results::BatchPolicy policy) {
  const std::optional<std::int64_t> batch = model::find_batch(spec);
  return batch.value_or(1) > 1 ? batch_sizes(policy, *batch) : std::vector<std::int64_t>{};
}

Seconds LayerDivision::time() const {
  Seconds sum{};
  for (const Step& step : steps) {
    sum += step.time.time.median;
  }
  return sum;
}

LayerDivision divide_layer(const ResultSet& results,
                           const model::LayerSpec& spec,
                           const results::DivisionRule& rule) {
  LayerDivision layer;
  const Bytes cap = rule.workspace_cap;
  const std::vector<std::int64_t> sizes = part_sizes(spec, rule.policy);
  if (sizes.empty()) {
    layer.why_not = "it has no batch to divide";
    return layer;
  }
  const Additions additions(results, spec);
  std::map<std::int64_t, LayerDivision::Step> times;
  std::vector<PartKernel> kernels;
  for (const std::int64_t size : sizes) {
    const bool whole = size == sizes.back();
    const model::LayerKey key = model::to_key(model::with_batch(spec, size));
    const Bytes added{whole ? 0 : additions.bytes.value};
    if (!results.best(key, results::CacheMode::kNone)) {
      layer.missing.push_back(size);
    } else if (const std::optional<KeyTime> time =
                   time_within(results, key, {cap.value - added.value})) {
      // One addition less than parts is needed, so that all divisions cost one too many.
      kernels.push_back({size,
                         time->time.median + additions.time,
                         workspace_of(results, key, time->variant) + added,
                         time->variant});
      times.emplace(size, LayerDivision::Step{key, *time});
    }
  }
  if (!layer.missing.empty() || !additions.missing.empty()) {
    layer.why_not = layer.missing.empty()
                        ? fmt::format("no time of {}", additions.missing)
                        : fmt::format("no time of a batch of {}", layer.missing.front());
    return layer;
  }
  const std::optional<BatchDivision> division = fastest_division(kernels, sizes.back(), cap);
  if (!division) {
    layer.why_not = fmt::format("no variant keeps {} bytes of workspace", cap.value);
    return layer;
  }
  for (const PartKernel& part : division->parts) {
    layer.steps.push_back(times.at(part.batch));
  }
  layer.parts = layer.steps.size();
  for (std::size_t i = 1; i < layer.parts; ++i) {
    layer.steps.insert(layer.steps.end(), additions.steps.begin(), additions.steps.end());
  }
  layer.variant = layer.parts == 1 ? layer.steps.front().time.variant : text_of(division->parts);
  const std::optional<KeyTime> choice =
      results.library_choice(model::to_key(spec), results::CacheMode::kNone);
  layer.own_choice = layer.parts == 1 && choice && choice->variant == layer.variant;
  return layer;
}

}  // namespace plumb::analysis
