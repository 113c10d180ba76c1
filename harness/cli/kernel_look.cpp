// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/kernel_look.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/worker/worker_variables.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostVariants = 16;

bool is_wanted(const Measurement& row) {
  return row.purpose != Purpose::kRace && row.outcome.timed();
}

std::vector<std::string> variants_of(const std::vector<Measurement>& rows) {
  std::vector<const Measurement*> timed;
  for (const Measurement& row : rows) {
    if (is_wanted(row)) {
      timed.push_back(&row);
    }
  }
  std::stable_sort(timed.begin(), timed.end(), [](const Measurement* a, const Measurement* b) {
    return a->library_choice != b->library_choice ? a->library_choice
                                                  : a->summary.median < b->summary.median;
  });
  std::vector<std::string> variants;
  for (const Measurement* const row : timed) {
    const bool known = std::find(variants.begin(), variants.end(), row->variant) != variants.end();
    if (!known && variants.size() < kMostVariants) {
      variants.push_back(row->variant);
    }
  }
  return variants;
}

/// Asks for as little timing as there can be: it counts for nothing.
MeasureRequest request_for(const std::vector<Measurement>& rows) {
  MeasureRequest request;
  request.key = rows.front().key;
  request.variants = variants_of(rows);
  request.sampling.warm_up_at_most = Seconds(0.0);
  request.sampling.budget = Seconds(1e-3);
  request.sampling.samples_at_least = 2;
  request.sampling.samples_at_most = 2;
  request.disturbed_attempts = 1;
  request.verify = false;
  return request;
}

}  // namespace

void look_at_kernels(WorkerOptions settings, Seconds timeout, std::vector<Measurement>& rows) {
  if (std::none_of(rows.begin(), rows.end(), is_wanted)) {
    return;
  }
  const auto add =
      [&rows](const std::string& variant, const Attributes& attributes, const Readings& readings) {
        for (Measurement& row : rows) {
          if (is_wanted(row) && (variant.empty() || row.variant == variant)) {
            Attributes above = attributes;
            above.merge(row.attributes);
            row.attributes = std::move(above);
            row.readings.merge(Readings(readings));
          }
        }
      };
  settings.stack.variables[kProfileVariable] = "1";
  std::string failure;
  try {
    WorkerProcess worker(settings);
    worker.measure(request_for(rows), timeout, [&](const Measurement& seen) {
      add(seen.variant, seen.attributes, seen.readings);
    });
  } catch (const WorkerDied& death) {
    failure = death.outcome().reason;
  } catch (const Error& error) {
    failure = error.what();
  }
  if (!failure.empty()) {
    spdlog::warn("the kernels were not looked at: {}", failure);
    add("", {{"kernels_missing", failure}}, {});
  }
}

}  // namespace plumb
