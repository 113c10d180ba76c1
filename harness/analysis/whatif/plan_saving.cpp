// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/plan_saving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/bounds/partition.hpp"
#include "harness/analysis/bounds/plan_estimate.hpp"
#include "harness/analysis/bounds/process_pool.hpp"

namespace plumb::analysis {
namespace {

/// What both plans do about one group of layers.
struct Share {
  std::vector<model::LayerId> layers;
  std::vector<const PricedStep*> before;
  std::vector<const PricedStep*> after;
};

Seconds sum_steps(const std::vector<const PricedStep*>& steps) {
  Seconds sum{};
  for (const PricedStep* const step : steps) {
    sum += step->seconds;
  }
  return sum;
}

const PricedStep* slowest(const std::vector<const PricedStep*>& steps) {
  const auto found = std::max_element(steps.begin(), steps.end(), [](const auto* a, const auto* b) {
    return a->seconds < b->seconds;
  });
  return found == steps.end() ? nullptr : *found;
}

std::string describe_change(const PricedStep* before, const PricedStep* after) {
  if (before == nullptr || after == nullptr) {
    return before == nullptr ? "added" : "no longer executed";
  }
  return before->variant == after->variant
             ? before->variant
             : fmt::format("{} → {}", before->variant, after->variant);
}

bool covers_known_layers(const std::vector<PricedStep>& steps, const model::Graph& graph) {
  return std::all_of(steps.begin(), steps.end(), [&](const PricedStep& step) {
    return std::all_of(step.layers.begin(), step.layers.end(), [&](model::LayerId layer) {
      return layer < graph.layers.size();
    });
  });
}

/// Returns the shares of all groups. Steps of no layer, such as reorders of the outputs, are one
/// group.
std::vector<Share> compute_shares(const std::vector<PricedStep>& before,
                                  const std::vector<PricedStep>& after,
                                  const model::Graph& graph) {
  LayerGroups groups(graph.layers.size());
  for (const std::vector<PricedStep>* const steps : {&before, &after}) {
    for (const PricedStep& step : *steps) {
      for (const model::LayerId layer : step.layers) {
        groups.join(step.layers.front(), layer);
      }
    }
  }
  std::map<model::LayerId, Share> shares;
  const auto add = [&](const std::vector<PricedStep>& steps, auto side) {
    for (const PricedStep& step : steps) {
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

std::vector<WhatIfResult::LayerSaving> compute_savings(const std::vector<PricedStep>& before,
                                                       const std::vector<PricedStep>& after,
                                                       const model::Graph& graph) {
  std::vector<WhatIfResult::LayerSaving> savings;
  if (before.empty() || after.empty() || !covers_known_layers(before, graph) ||
      !covers_known_layers(after, graph)) {
    return savings;
  }
  for (const Share& share : compute_shares(before, after, graph)) {
    const PricedStep* const from = slowest(share.before);
    const PricedStep* const to = slowest(share.after);
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
  std::map<std::string, std::vector<PricedStep>> plans;
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
