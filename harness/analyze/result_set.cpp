// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/result_set.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

/// Tells whether a key has a constant operand, from its text alone: a `c` behind the extents.
bool has_weights(const LayerKey& key) {
  const std::string_view text = key.text;
  const std::size_t begin = text.find(";in=");
  const std::size_t end = text.find(";out=");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return false;
  }
  return text.substr(begin, end - begin).find("]c") != std::string_view::npos;
}

/// Orders rows of one variant by how much they are worth: confirmed, quiet, stable, late.
auto worth(const StoredMeasurement& row) {
  const Measurement& measurement = row.measurement;
  return std::tuple(measurement.purpose == Purpose::kConfirm,
                    !measurement.disturbance.disturbed,
                    measurement.outcome.ok(),
                    measurement.started,
                    row.row);
}

KeyTime time_of(const StoredMeasurement& row) {
  KeyTime time;
  time.time = row.measurement.corrected();
  time.raw = row.measurement.summary;
  time.variant = row.measurement.variant;
  time.row = row.row;
  time.measured = row.measurement.started;
  time.reorder = row.measurement.reorder;
  return time;
}

/// Picks the fastest variant among the rows that `wanted` accepts. A reference implementation
/// counts only where nothing else was timed, and an unconfirmed winner only where no variant was
/// confirmed.
std::optional<KeyTime> fastest(const std::vector<const StoredMeasurement*>& rows,
                               CacheMode cache,
                               const std::function<bool(const Measurement&)>& wanted) {
  std::map<std::string_view, const StoredMeasurement*> by_variant;
  for (const StoredMeasurement* row : rows) {
    const Measurement& measurement = row->measurement;
    if (measurement.cache != cache || measurement.purpose == Purpose::kRace ||
        !measurement.outcome.timed() || measurement.summary.n == 0 || !wanted(measurement)) {
      continue;
    }
    const StoredMeasurement*& held = by_variant[measurement.variant];
    if (held == nullptr || worth(*held) < worth(*row)) {
      held = row;
    }
  }
  const auto order = [](const StoredMeasurement& row) {
    const Measurement& measurement = row.measurement;
    return std::tuple(measurement.reference_implementation,
                      measurement.purpose != Purpose::kConfirm,
                      measurement.corrected().median);
  };
  const StoredMeasurement* best = nullptr;
  for (const auto& [variant, row] : by_variant) {
    if (best == nullptr || order(*row) < order(*best)) {
      best = row;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(time_of(*best));
}

int severity(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::kCrashed:
      return 7;
    case Outcome::Kind::kWrongResult:
      return 6;
    case Outcome::Kind::kTimedOut:
      return 5;
    case Outcome::Kind::kOutOfMemory:
      return 4;
    case Outcome::Kind::kUnsupported:
      return 3;
    case Outcome::Kind::kSkipped:
      return 2;
    case Outcome::Kind::kUnstable:
      return 1;
    case Outcome::Kind::kOk:
      return 0;
  }
  return 0;
}

}  // namespace

ResultSet::ResultSet(std::vector<StoredMeasurement> rows, std::optional<Calibration> calibration)
    : rows_(std::move(rows)), calibration_(calibration) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    by_key_[rows_[i].measurement.key].push_back(i);
  }
}

std::optional<KeyTime> ResultSet::best(const LayerKey& key, CacheMode cache) const {
  const auto any = [](const Measurement&) { return true; };
  std::optional<KeyTime> time = fastest(rows_of(key), cache, any);
  if (!time && cache == CacheMode::kWeights && !has_weights(key)) {
    time = fastest(rows_of(key), CacheMode::kNone, any);
  }
  return time;
}

std::optional<KeyTime> ResultSet::of_variant(const LayerKey& key,
                                             const std::string& variant,
                                             CacheMode cache) const {
  const auto named = [&](const Measurement& measurement) { return measurement.variant == variant; };
  std::optional<KeyTime> time = fastest(rows_of(key), cache, named);
  if (!time && cache == CacheMode::kWeights && !has_weights(key)) {
    time = fastest(rows_of(key), CacheMode::kNone, named);
  }
  for (const StoredMeasurement* row : rows_of(key)) {
    if (!time && named(row->measurement) && row->measurement.outcome.timed() &&
        row->measurement.summary.n > 0) {
      time = time_of(*row);
    }
  }
  return time;
}

std::optional<KeyTime> ResultSet::library_choice(const LayerKey& key, CacheMode cache) const {
  const auto chosen = [](const Measurement& measurement) { return measurement.library_choice; };
  std::optional<KeyTime> time = fastest(rows_of(key), cache, chosen);
  if (!time && cache == CacheMode::kWeights && !has_weights(key)) {
    time = fastest(rows_of(key), CacheMode::kNone, chosen);
  }
  return time;
}

std::vector<KeyTime> ResultSet::variant_times(const LayerKey& key, CacheMode cache) const {
  const bool references = fell_back_to_reference(key);
  std::set<std::string_view> variants;
  for (const StoredMeasurement* row : rows_of(key)) {
    const Measurement& measurement = row->measurement;
    if (measurement.cache == cache && measurement.outcome.timed() && measurement.summary.n > 0 &&
        (references || !measurement.reference_implementation)) {
      variants.insert(measurement.variant);
    }
  }
  std::vector<KeyTime> times;
  for (const std::string_view variant : variants) {
    if (std::optional<KeyTime> time = of_variant(key, std::string(variant), cache)) {
      times.push_back(std::move(*time));
    }
  }
  std::stable_sort(times.begin(), times.end(), [](const KeyTime& a, const KeyTime& b) {
    return a.time.median < b.time.median;
  });
  return times;
}

std::optional<Outcome> ResultSet::failure(const LayerKey& key) const {
  std::optional<Outcome> worst;
  for (const StoredMeasurement* row : rows_of(key)) {
    const Measurement& measurement = row->measurement;
    if (measurement.outcome.timed()) {
      if (measurement.purpose == Purpose::kRace) {
        continue;
      }
      return std::nullopt;
    }
    if (!worst || severity(worst->kind) < severity(measurement.outcome.kind)) {
      worst = measurement.outcome;
    }
  }
  return worst;
}

bool ResultSet::fell_back_to_reference(const LayerKey& key) const {
  const std::vector<const StoredMeasurement*> rows = rows_of(key);
  bool reference = false;
  for (const StoredMeasurement* row : rows) {
    if (row->measurement.outcome.timed()) {
      if (!row->measurement.reference_implementation) {
        return false;
      }
      reference = true;
    }
  }
  return reference;
}

std::vector<const StoredMeasurement*> ResultSet::rows_of(const LayerKey& key) const {
  std::vector<const StoredMeasurement*> result;
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    for (const std::size_t index : found->second) {
      result.push_back(&rows_[index]);
    }
  }
  return result;
}

}  // namespace plumb
