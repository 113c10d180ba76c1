// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if_input.hpp"

#include <algorithm>
#include <cmath>

#include "harness/rewrite/types/typed_graph.hpp"

namespace plumb::analysis {

const model::Graph& WhatIfInput::graph_in(std::string_view type) const {
  if (type.empty()) {
    return graph;
  }
  const auto found = typed_.find(type);
  return found != typed_.end()
             ? found->second
             : typed_.emplace(std::string(type), rewrite::typed_graph(graph, type)).first->second;
}

const ModelPartition& WhatIfInput::partition_in(std::string_view type,
                                                PartitionMode mode,
                                                std::string_view family) const {
  const std::tuple key(std::string(type), mode, std::string(family));
  const auto found = partitions_.find(key);
  return found != partitions_.end()
             ? found->second
             : partitions_.emplace(key, partition_model(graph_in(type), results, mode, family))
                   .first->second;
}

std::string WhatIfInput::why_no_branches() const {
  // A device has streams for branches, whatever the threads of its worker.
  const bool one_thread = scaling != nullptr && scaling->processors() < 2;
  return one_thread && !on_device.value_or(false)
             ? "the run has one thread, so that no branch can run beside another: run with "
               "--threads 2 or more"
             : std::string();
}

std::optional<Seconds> predicted_saving(const WhatIfResult& result) {
  const bool known = result.why_not.empty() && result.baseline && result.predicted;
  return known ? std::optional(*result.baseline - *result.predicted) : std::nullopt;
}

std::optional<measure::MeasuredTime> saving_with_interval(const WhatIfResult& result) {
  const std::optional<Seconds> saving = predicted_saving(result);
  if (!saving) {
    return std::nullopt;
  }
  const measure::Interval& before = result.baseline_interval;
  const measure::Interval& after = result.predicted_interval;
  const double below =
      std::hypot((*result.baseline - before.low).count(), (after.high - *result.predicted).count());
  const double above =
      std::hypot((before.high - *result.baseline).count(), (*result.predicted - after.low).count());
  return measure::MeasuredTime{*saving, {*saving - Seconds(below), *saving + Seconds(above)}};
}

void conclude(WhatIfResult& result,
              const measure::MeasuredTime& baseline,
              const measure::MeasuredTime& predicted) {
  result.baseline = baseline.median;
  result.baseline_interval = baseline.interval;
  result.predicted = predicted.median;
  result.predicted_interval = predicted.interval;
  if (predicted.median > Seconds{}) {
    result.predicted_speedup = baseline.median / predicted.median;
  }
  std::stable_sort(
      result.layers.begin(), result.layers.end(), [](const auto& left, const auto& right) {
        return left.before - left.after > right.before - right.after;
      });
}

}  // namespace plumb::analysis
