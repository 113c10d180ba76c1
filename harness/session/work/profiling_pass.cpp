// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/profiling_pass.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::session {
namespace {

constexpr std::size_t kMaxVariants = 16;
constexpr const char* kMetricsMissing = "metrics_missing";

bool is_wanted(const results::Measurement& row) {
  return row.purpose != results::Purpose::kRace && row.outcome.timed();
}

std::vector<std::string> list_variants(const std::vector<results::Measurement>& rows) {
  std::vector<const results::Measurement*> timed;
  for (const results::Measurement& row : rows) {
    if (is_wanted(row)) {
      timed.push_back(&row);
    }
  }
  std::stable_sort(
      timed.begin(), timed.end(), [](const results::Measurement* a, const results::Measurement* b) {
        return a->library_choice != b->library_choice ? a->library_choice
                                                      : a->summary.median < b->summary.median;
      });
  std::vector<std::string> variants;
  for (const results::Measurement* const row : timed) {
    const bool known = std::find(variants.begin(), variants.end(), row->variant) != variants.end();
    if (!known && variants.size() < kMaxVariants) {
      variants.push_back(row->variant);
    }
  }
  return variants;
}

/// Returns a request with as little timing as possible, because its times are not used.
worker::MeasureRequest request_for(const std::vector<results::Measurement>& rows) {
  worker::MeasureRequest request;
  request.key = rows.front().key;
  request.variants = list_variants(rows);
  request.sampling.warm_up_at_most = Seconds(0.0);
  request.sampling.budget = Seconds(1e-3);
  request.sampling.samples_at_least = 2;
  request.sampling.samples_at_most = 2;
  request.disturbed_attempts = 1;
  request.verify = false;
  return request;
}

/// Removes the attributes that are "unknown", with the ".source" of each.
results::Attributes known(results::Attributes seen) {
  for (auto one = seen.begin(); one != seen.end();) {
    if (one->second == "unknown") {
      seen.erase(one->first + ".source");
      one = seen.erase(one);
    } else {
      ++one;
    }
  }
  return seen;
}

/// Adds attributes and readings to the timed rows of a variant; empty: of all variants. New
/// attributes replace those of the row, new readings do not.
void add(std::vector<results::Measurement>& rows,
         const std::string& variant,
         const results::Attributes& attributes,
         const results::Readings& readings) {
  for (results::Measurement& row : rows) {
    if (is_wanted(row) && (variant.empty() || row.variant == variant)) {
      results::Attributes above = attributes;
      above.merge(row.attributes);
      row.attributes = std::move(above);
      row.readings.merge(results::Readings(readings));
    }
  }
}

void miss(const char* attribute,
          const std::string& reason,
          std::vector<results::Measurement>& rows) {
  spdlog::warn("{}: {}", attribute, reason);
  add(rows, "", {{attribute, reason}}, {});
}

/// Executes the variants in a worker that observes them, and adds what it reports to the rows. If
/// it fails, the rows keep the reason as the attribute `missing`.
void look(worker::WorkerOptions settings,
          Seconds timeout,
          worker::WorkerObservation observe,
          const char* missing,
          std::vector<results::Measurement>& rows) {
  if (std::none_of(rows.begin(), rows.end(), is_wanted)) {
    return;
  }
  settings.setup.observe = std::move(observe);
  try {
    worker::WorkerProcess worker(settings);
    worker.measure(request_for(rows), timeout, [&](const results::Measurement& seen) {
      add(rows, seen.variant, known(seen.attributes), seen.readings);
    });
  } catch (const worker::WorkerDied& death) {
    miss(missing, death.outcome().reason, rows);
  } catch (const Error& error) {
    miss(missing, error.what(), rows);
  }
}

}  // namespace

void look_at_kernels(worker::WorkerOptions settings,
                     Seconds timeout,
                     std::vector<results::Measurement>& rows) {
  look(std::move(settings), timeout, {.kernels = true, .metrics = {}}, "kernels_missing", rows);
}

void look_at_counters(worker::WorkerOptions settings,
                      Seconds timeout,
                      std::vector<std::string> metrics,
                      std::vector<results::Measurement>& rows) {
  look(std::move(settings),
       timeout,
       {.kernels = false, .metrics = std::move(metrics)},
       kMetricsMissing,
       rows);
}

void miss_counters(const std::string& reason, std::vector<results::Measurement>& rows) {
  miss(kMetricsMissing, reason, rows);
}

}  // namespace plumb::session
