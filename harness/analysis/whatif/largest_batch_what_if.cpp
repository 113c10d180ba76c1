// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/model/graph/graph.hpp"

namespace plumb::analysis {
namespace {

double mebibytes_of(Bytes bytes) {
  return static_cast<double>(bytes.value) / (1 << 20);
}

double samples_per_second(const TrainedBatch& batch) {
  return static_cast<double>(samples_of_step(batch.instance)) / batch.time.median.count();
}

/// Returns the time at the rate of a batch for as many samples as a step of the instance has.
measure::MeasuredTime time_at_rate(const TrainedBatch& batch, const ModelInstance& instance) {
  const double share = static_cast<double>(samples_of_step(instance)) /
                       static_cast<double>(samples_of_step(batch.instance));
  return {share * batch.time.median,
          {share * batch.time.interval.low, share * batch.time.interval.high}};
}

/// Batches of the same step: its own, and the largest that fits.
struct FoundBatches {
  const TrainedBatch* own = nullptr;      ///< null: a layer has no time
  const TrainedBatch* largest = nullptr;  ///< null: none fits
};

FoundBatches find_batches(const WhatIfInput& input, Bytes cap) {
  FoundBatches found;
  for (const TrainedBatch& each : input.batches) {
    ModelInstance alike = each.instance;
    alike.batch = input.instance.batch;
    if (alike != input.instance) {
      continue;
    }
    if (each.instance.batch == input.instance.batch) {
      found.own = &each;
    }
    const bool fits = each.memory <= cap;
    if (fits && (found.largest == nullptr || each.instance.batch > found.largest->instance.batch)) {
      found.largest = &each;
    }
  }
  return found;
}

}  // namespace

std::optional<TrainedBatch> price_trained_batch(const ModelInstance& instance,
                                                const model::Graph& graph,
                                                const ResultSet& results) {
  if (!memory_cap_of(instance)) {
    return std::nullopt;
  }
  std::vector<PartitionStep> steps = partition_model(graph, results, PartitionMode::kPlain).steps;
  for (PartitionStep& step : steps) {
    step.time = served_time(results, step.key);
  }
  const StepSum sum = sum_steps(steps);
  if (sum.missing > 0 || sum.time.median <= Seconds{}) {
    return std::nullopt;
  }
  return TrainedBatch{instance, model::compute_memory(graph).total(), sum.time};
}

WhatIfResult largest_batch_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "the largest batch of the run whose step fits into memory; not fused, library's choices, hot";
  const std::optional<Bytes> cap = memory_cap_of(input.instance);
  if (!cap) {
    result.applies = false;
    result.why_not =
        "it is not known how much memory there is: run with +memory_cap=SIZE behind the optimiser";
    return result;
  }
  const auto [own, largest] = find_batches(input, *cap);
  if (own == nullptr) {
    result.why_not = "a layer of the step has no time";
    return result;
  }
  if (largest == nullptr || largest == own) {
    result.why_not =
        fmt::format("{} of this run fits into {:.1f} MiB: add other batches to the suite",
                    largest == nullptr ? "no batch" : "no larger batch",
                    mebibytes_of(*cap));
    return result;
  }
  result.samples_per_second = samples_per_second(*largest);
  result.mode += fmt::format(
      "; batch {} in place of {}: {:.1f} in place of {:.1f} samples a second, and {:.1f} in place "
      "of {:.1f} MiB, without what a library adds",
      largest->instance.batch,
      own->instance.batch,
      samples_per_second(*largest),
      samples_per_second(*own),
      mebibytes_of(largest->memory),
      mebibytes_of(own->memory));
  result.prerequisites = {"an optimiser's rate that suits the other batch"};
  conclude(result, own->time, time_at_rate(*largest, input.instance));
  return result;
}

}  // namespace plumb::analysis
