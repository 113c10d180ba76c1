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

}  // namespace

std::vector<std::int64_t> part_sizes(const model::LayerSpec& spec) {
  const std::optional<std::int64_t> batch = model::find_batch(spec);
  return batch.value_or(1) > 1 ? batch_sizes(BatchPolicy::kPowersOfTwo, *batch)
                               : std::vector<std::int64_t>{};
}

LayerDivision divide_layer(const ResultSet& results, const model::LayerSpec& spec, Bytes cap) {
  LayerDivision layer;
  const std::vector<std::int64_t> sizes = part_sizes(spec);
  std::map<std::int64_t, std::pair<model::LayerKey, KeyTime>> times;
  std::vector<PartKernel> kernels;
  for (const std::int64_t size : sizes) {
    const model::LayerKey key = model::to_key(model::with_batch(spec, size));
    if (!results.best(key, results::CacheMode::kNone)) {
      layer.missing.push_back(size);
    } else if (const std::optional<KeyTime> time = time_within(results, key, cap)) {
      kernels.push_back(
          {size, time->time.median, workspace_of(results, key, time->variant), time->variant});
      times.emplace(size, std::pair(key, *time));
    }
  }
  if (sizes.empty() || !layer.missing.empty()) {
    layer.why_not = sizes.empty() ? "it has no batch to divide"
                                  : fmt::format("no time of a batch of {}", layer.missing.front());
    return layer;
  }
  const std::optional<BatchDivision> division = fastest_division(kernels, sizes.back(), cap);
  if (!division) {
    layer.why_not = fmt::format("no variant keeps {} bytes of workspace", cap.value);
    return layer;
  }
  for (const PartKernel& part : division->parts) {
    layer.keys.push_back(times.at(part.batch).first);
    layer.parts.push_back(times.at(part.batch).second);
  }
  layer.variant = layer.parts.size() == 1 ? layer.parts.front().variant : text_of(division->parts);
  const std::optional<KeyTime> choice =
      results.library_choice(model::to_key(spec), results::CacheMode::kNone);
  layer.own_choice = layer.parts.size() == 1 && choice && choice->variant == layer.variant;
  return layer;
}

}  // namespace plumb::analysis
