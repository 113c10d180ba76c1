// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "harness/analysis/bounds/model_execution.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {
namespace {

const ExecutionTime* execution_in(const ModelBounds& model, std::string_view mode) {
  const auto found = std::find_if(
      model.executions.begin(), model.executions.end(), [&](const ExecutionTime& execution) {
        return execution.mode == mode && execution.samples > 0;
      });
  return found == model.executions.end() ? nullptr : &*found;
}

const Bound* prediction_in(const ModelBounds& model, std::string_view mode) {
  return find_complete(model, results::BoundKind::kPredicted, mode);
}

/// Compares a predicted saving with a realised one. The interval of the difference is by the method
/// of variance estimates recovery (Zou and Donner, Statistics in Medicine 27, 2008): the distances
/// of the medians from the ends of their intervals add as squares. The four times are taken as
/// independent. A slow second that affects a prediction and an execution alike makes the interval
/// too wide, not too narrow.
WhatIfResult::PredictionError prediction_error(const measure::MeasuredTime& priced_before,
                                               const measure::MeasuredTime& priced_after,
                                               const measure::MeasuredTime& before,
                                               const measure::MeasuredTime& after) {
  const auto below = [](const measure::MeasuredTime& time) {
    return time.median - time.interval.low;
  };
  const auto above = [](const measure::MeasuredTime& time) {
    return time.interval.high - time.median;
  };
  const auto root = [&](auto one, auto other) {
    return std::hypot(std::hypot(one(priced_before).count(), other(priced_after).count()),
                      std::hypot(other(before).count(), one(after).count()));
  };
  const double difference =
      ((priced_before.median - priced_after.median) - (before.median - after.median)).count();
  const double low = difference - root(below, above);
  const double high = difference + root(above, below);
  const double nearest = low <= 0 && high >= 0 ? 0 : std::min(std::abs(low), std::abs(high));
  const double whole = before.median.count();
  return {std::abs(difference) / whole,
          nearest / whole,
          std::max(std::abs(low), std::abs(high)) / whole};
}

/// Notes that a mode was tried and gave no time, where nothing is predicted for it either.
void say_why_not_executed(const ModelBounds& model, WhatIfResult& result) {
  for (const ExecutionTime& execution : model.executions) {
    if (execution.mode == result.execution_mode && execution.samples == 0 && !result.predicted) {
      result.why_not = fmt::format("not executed in the mode {}: {}: {}",
                                   execution.mode,
                                   to_text(execution.outcome.kind),
                                   execution.outcome.reason);
      result.applies = execution.outcome.kind != results::Outcome::Kind::kUnsupported;
    }
  }
}

std::string why_not_judged(std::string_view mode, const ResultSet& results) {
  const std::optional<results::Calibration>& calibration = results.calibration();
  if (!calibration || !results::execution_mode_from(mode).parallel_branches ||
      calibration->parallel_efficiency >= kMinParallelEfficiency) {
    return {};
  }
  return fmt::format(
      "the threads share cores: together they do {:.0f} % of what as many alone would do, and "
      "{:.0f} "
      "% are needed",
      100.0 * calibration->parallel_efficiency,
      100.0 * kMinParallelEfficiency);
}

}  // namespace

void add_realised_savings(const ModelBounds& model,
                          const ResultSet& results,
                          ModelWhatIfs& whatifs) {
  for (WhatIfResult& result : whatifs.whatifs) {
    if (!result.applies && result.name != result.execution_mode) {
      continue;  // the mode is that of another what-if
    }
    const ExecutionTime* const before = execution_in(model, result.baseline_mode);
    const Bound* const priced_before = prediction_in(model, result.baseline_mode);
    const ExecutionTime* const after = execution_in(model, result.execution_mode);
    if (before == nullptr || after == nullptr || before->median <= Seconds{} ||
        after->median <= Seconds{}) {
      say_why_not_executed(model, result);
      continue;
    }
    result.realised_baseline = before->median;
    result.realised_baseline_interval = before->interval;
    result.realised = after->median;
    result.realised_interval = after->interval;
    result.realised_speedup = before->median / after->median;
    result.realised_baseline_memory = before->memory;
    result.realised_memory = after->memory;
    result.realised_difference = after->maximum_error;
    const Bound* const priced = prediction_in(model, result.execution_mode);
    // Prices that leave out different things are of no use against each other.
    if (result.plans_tell && priced_before != nullptr && priced != nullptr &&
        priced_before->lacks == priced->lacks) {
      result.why_not.clear();
      result.of_plans = true;
      result.mode = fmt::format(
          "the plan of mode {}, priced by its layers: weights cold, operands passed on, reorders "
          "counted",
          result.execution_mode);
      conclude(result,
               {priced_before->seconds, priced_before->interval},
               {priced->seconds, priced->interval});
    }
    result.not_judged = why_not_judged(result.execution_mode, results);
    if (result.baseline && result.predicted && result.why_not.empty() &&
        result.not_judged.empty()) {
      result.prediction_error = prediction_error({*result.baseline, result.baseline_interval},
                                                 {*result.predicted, result.predicted_interval},
                                                 {before->median, before->interval},
                                                 {after->median, after->interval});
    }
  }
}

namespace {

/// What both plans do about one group of layers.
struct Share {
  std::vector<model::LayerId> layers;
  std::vector<const ExecutionTime::PricedStep*> before;
  std::vector<const ExecutionTime::PricedStep*> after;
};

Seconds sum_steps(const std::vector<const ExecutionTime::PricedStep*>& steps) {
  Seconds sum{};
  for (const ExecutionTime::PricedStep* const step : steps) {
    sum += step->seconds;
  }
  return sum;
}

const ExecutionTime::PricedStep* slowest(
    const std::vector<const ExecutionTime::PricedStep*>& steps) {
  const auto found = std::max_element(steps.begin(), steps.end(), [](const auto* a, const auto* b) {
    return a->seconds < b->seconds;
  });
  return found == steps.end() ? nullptr : *found;
}

std::string describe_change(const ExecutionTime::PricedStep* before,
                            const ExecutionTime::PricedStep* after) {
  if (before == nullptr || after == nullptr) {
    return before == nullptr ? "added" : "no longer executed";
  }
  return before->variant == after->variant
             ? before->variant
             : fmt::format("{} → {}", before->variant, after->variant);
}

bool covers_known_layers(const std::vector<ExecutionTime::PricedStep>& steps,
                         const model::Graph& graph) {
  return std::all_of(steps.begin(), steps.end(), [&](const ExecutionTime::PricedStep& step) {
    return std::all_of(step.layers.begin(), step.layers.end(), [&](model::LayerId layer) {
      return layer < graph.layers.size();
    });
  });
}

/// Returns the shares of all groups. Steps of no layer, such as reorders of the outputs, are one
/// group.
std::vector<Share> compute_shares(const std::vector<ExecutionTime::PricedStep>& before,
                                  const std::vector<ExecutionTime::PricedStep>& after,
                                  const model::Graph& graph) {
  ModelPartition::Cover::LayerGroups groups(graph.layers.size());
  for (const std::vector<ExecutionTime::PricedStep>* const steps : {&before, &after}) {
    for (const ExecutionTime::PricedStep& step : *steps) {
      for (const model::LayerId layer : step.layers) {
        groups.join(step.layers.front(), layer);
      }
    }
  }
  std::map<model::LayerId, Share> shares;
  const auto add = [&](const std::vector<ExecutionTime::PricedStep>& steps, auto side) {
    for (const ExecutionTime::PricedStep& step : steps) {
      Share& share =
          shares[step.layers.empty() ? graph.layers.size() : groups.root(step.layers.front())];
      (share.*side).push_back(&step);
      share.layers.insert(share.layers.end(), step.layers.begin(), step.layers.end());
    }
  };
  add(before, &Share::before);
  add(after, &Share::after);
  std::vector<Share> list;
  for (auto& [root, share] : shares) {
    std::sort(share.layers.begin(), share.layers.end());
    share.layers.erase(std::unique(share.layers.begin(), share.layers.end()), share.layers.end());
    list.push_back(std::move(share));
  }
  return list;
}

std::vector<WhatIfResult::LayerSaving> compute_savings(
    const std::vector<ExecutionTime::PricedStep>& before,
    const std::vector<ExecutionTime::PricedStep>& after,
    const model::Graph& graph) {
  std::vector<WhatIfResult::LayerSaving> savings;
  if (before.empty() || after.empty() || !covers_known_layers(before, graph) ||
      !covers_known_layers(after, graph)) {
    return savings;
  }
  for (const Share& share : compute_shares(before, after, graph)) {
    const ExecutionTime::PricedStep* const from = slowest(share.before);
    const ExecutionTime::PricedStep* const to = slowest(share.after);
    const Seconds was = sum_steps(share.before);
    const Seconds is = sum_steps(share.after);
    if (was == is) {
      continue;
    }
    savings.push_back(
        {share.layers.empty() ? "reorders of the outputs" : name_of(graph, share.layers),
         to != nullptr ? to->key : from->key,
         was,
         is,
         describe_change(from, to)});
  }
  std::stable_sort(savings.begin(), savings.end(), [](const auto& left, const auto& right) {
    return left.before - left.after > right.before - right.after;
  });
  return savings;
}

}  // namespace

void add_plan_savings(std::span<const results::Execution> executions,
                      const model::Graph& graph,
                      const ResultSet& results,
                      ModelWhatIfs& whatifs) {
  std::map<std::string, std::vector<ExecutionTime::PricedStep>> plans;
  for (const ReplicatedExecution& execution : replicated_executions(executions)) {
    if (!execution.told->turn) {
      plans.insert_or_assign(execution.told->mode, priced_steps(*execution.told, results));
    }
  }
  for (WhatIfResult& result : whatifs.whatifs) {
    if (result.of_plans) {
      result.layers =
          compute_savings(plans[result.baseline_mode], plans[result.execution_mode], graph);
    }
  }
}

}  // namespace plumb::analysis
