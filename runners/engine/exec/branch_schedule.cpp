// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/branch_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/rough_cost.hpp"

namespace plumb::engine {
namespace {

constexpr double kMinParallelism = 1.1;

/// Returns each step's cost plus that of the most expensive path behind it. Steps must be numbered
/// after their needs.
std::vector<double> costs_to_end(const StepNeeds& needs, std::span<const double> costs) {
  std::vector<double> behind(needs.size(), 0.0);
  std::vector<double> result(needs.size(), 0.0);
  for (std::size_t step = needs.size(); step-- > 0;) {
    result[step] = behind[step] + costs[step];
    for (const std::size_t need : needs[step]) {
      behind[need] = std::max(behind[need], result[step]);
    }
  }
  return result;
}

/// Schedule under construction, to which steps are added one at a time.
class Lister {
 public:
  Lister(const StepNeeds& needs, std::span<const double> costs, std::size_t lanes)
      : needs_(needs), costs_(costs), free_(lanes, 0.0), lane_(needs.size()), end_(needs.size()) {
    schedule_.lanes.resize(lanes);
    schedule_.waits.resize(needs.size());
  }

  void place(std::size_t step) {
    double ready = 0.0;
    std::optional<std::size_t> home;  // the lane of the need that ends last
    for (const std::size_t need : needs_[step]) {
      if (!home || end_[need] > ready) {
        home = lane_[need];
      }
      ready = std::max(ready, end_[need]);
    }
    std::size_t best = home.value_or(0);
    for (std::size_t lane = 0; lane < free_.size(); ++lane) {
      if (std::max(free_[lane], ready) < std::max(free_[best], ready)) {
        best = lane;
      }
    }
    lane_[step] = best;
    end_[step] = std::max(free_[best], ready) + costs_[step];
    free_[best] = end_[step];
    schedule_.lanes[best].push_back(step);
    std::copy_if(needs_[step].begin(),
                 needs_[step].end(),
                 std::back_inserter(schedule_.waits[step]),
                 [&](std::size_t need) { return lane_[need] != best; });
  }

  [[nodiscard]] BranchSchedule take() { return std::move(schedule_); }

 private:
  const StepNeeds& needs_;
  std::span<const double> costs_;
  std::vector<double> free_;  // by lane: when it ends
  std::vector<std::size_t> lane_;
  std::vector<double> end_;
  BranchSchedule schedule_;
};

}  // namespace

StepNeeds BranchSchedule::needs() const {
  StepNeeds result = waits;
  for (const std::vector<std::size_t>& lane : lanes) {
    for (std::size_t i = 1; i < lane.size(); ++i) {
      result[lane[i]].push_back(lane[i - 1]);
    }
  }
  return result;
}

BranchSchedule schedule_branches(const StepNeeds& needs,
                                 std::span<const double> costs,
                                 std::size_t lanes) {
  PLUMB_CHECK(lanes > 0 && costs.size() == needs.size());
  const std::vector<double> to_end = costs_to_end(needs, costs);
  std::vector<std::size_t> open(needs.size());  // needs not yet placed
  std::vector<std::vector<std::size_t>> users(needs.size());
  std::set<std::pair<double, std::size_t>> ready;  // most behind it first, then by number
  for (std::size_t step = 0; step < needs.size(); ++step) {
    open[step] = needs[step].size();
    for (const std::size_t need : needs[step]) {
      users[need].push_back(step);
    }
    if (open[step] == 0) {
      ready.emplace(-to_end[step], step);
    }
  }
  Lister lister(needs, costs, lanes);
  while (!ready.empty()) {
    const std::size_t step = ready.begin()->second;
    ready.erase(ready.begin());
    lister.place(step);
    for (const std::size_t user : users[step]) {
      if (--open[user] == 0) {
        ready.emplace(-to_end[user], user);
      }
    }
  }
  return lister.take();
}

std::size_t useful_lanes(const model::Graph& graph, std::size_t threads) {
  double total = 0.0;
  double longest = 0.0;
  std::vector<double> end(graph.values.size(), 0.0);  // of each value's longest path
  for (const model::Layer& layer : graph.layers) {
    const double cost =
        layer.role == model::Layer::Role::kCompute ? model::rough_cost(layer.spec) : 0.0;
    double ready = 0.0;
    for (const std::optional<model::ValueId>& input : layer.inputs) {
      ready = input ? std::max(ready, end[*input]) : ready;
    }
    for (const model::ValueId output : layer.outputs) {
      end[output] = ready + cost;
    }
    total += cost;
    longest = std::max(longest, ready + cost);
  }
  const double parallelism = longest > 0.0 ? total / longest : 1.0;
  if (parallelism < kMinParallelism) {
    return 1;
  }
  return std::min(threads,
                  std::max<std::size_t>(2, static_cast<std::size_t>(std::llround(parallelism))));
}

}  // namespace plumb::engine
