// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/checkpoint_plan.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::rewrite {
namespace {

/// Stretch with what it costs, holds and needs.
struct PricedStretch {
  CheckpointPlan::Stretch stretch;
  double cost = 0.0;
  std::int64_t kept = 0;  ///< bytes that stay for the stretches before it in the backward pass
  std::int64_t peak = 0;  ///< bytes at once in its own backward pass
};

/// Best way so far to have passed some stages.
struct State {
  std::int64_t kept = 0;
  double cost = 0.0;
  std::size_t before = 0;  ///< place of the state that it was made of
  CheckpointPlan::Stretch stretch;
};

PricedStretch price(std::span<const CheckpointPlan::Stage> chain,
                    const CheckpointPlan::Stretch& stretch) {
  PricedStretch priced{stretch};
  std::int64_t held = 0;
  for (std::size_t stage = stretch.first; stage <= stretch.last; ++stage) {
    const CheckpointPlan::Stage& each = chain[stage];
    held += each.inner + each.result;
    priced.peak = std::max(priced.peak, held + each.backward);
    priced.cost += stage == stretch.last ? each.recompute_last : each.recompute;
  }
  const CheckpointPlan::Stage& last = chain[stretch.last];
  priced.kept = last.result + (stretch.recomputed ? 0 : last.inner);
  priced.cost = stretch.recomputed ? priced.cost : 0.0;
  return priced;
}

/// Visits all stretches that begin with a stage, the kept one first.
void each_from(std::span<const CheckpointPlan::Stage> chain,
               std::size_t first,
               const std::function<void(const PricedStretch&)>& visit) {
  visit(price(chain, {first, first, false}));
  for (std::size_t last = first; last < chain.size(); ++last) {
    visit(price(chain, {first, last, true}));
  }
}

/// Sorts states and drops those that another one is at least as good as.
void keep_best(std::vector<State>& states) {
  std::stable_sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return std::pair(a.kept, a.cost) < std::pair(b.kept, b.cost);
  });
  std::vector<State> best;
  for (const State& state : states) {
    if (best.empty() || state.cost < best.back().cost) {
      best.push_back(state);
    }
  }
  states = std::move(best);
}

/// Returns whether some plan fits. To keep less is never worse here, so a stage needs one number.
bool fits(std::span<const CheckpointPlan::Stage> chain, std::int64_t cap) {
  std::vector<std::optional<std::int64_t>> least(chain.size() + 1);
  least[0] = 0;
  for (std::size_t first = 0; first < chain.size(); ++first) {
    if (!least[first]) {
      continue;
    }
    each_from(chain, first, [&](const PricedStretch& each) {
      std::optional<std::int64_t>& next = least[each.stretch.last + 1];
      const std::int64_t kept = *least[first] + each.kept;
      if (*least[first] + each.peak <= cap && (!next || kept < *next)) {
        next = kept;
      }
    });
  }
  return least.back().has_value();
}

CheckpointPlan keep_all(std::span<const CheckpointPlan::Stage> chain) {
  std::vector<CheckpointPlan::Stretch> stretches;
  for (std::size_t stage = 0; stage < chain.size(); ++stage) {
    stretches.push_back({stage, stage, false});
  }
  return price_stretches(chain, std::move(stretches));
}

}  // namespace

CheckpointPlan price_stretches(std::span<const CheckpointPlan::Stage> chain,
                               std::vector<CheckpointPlan::Stretch> stretches) {
  CheckpointPlan plan;
  std::int64_t kept = 0;
  for (const CheckpointPlan::Stretch& stretch : stretches) {
    const PricedStretch priced = price(chain, stretch);
    plan.recomputation += priced.cost;
    plan.peak = std::max(plan.peak, kept + priced.peak);
    kept += priced.kept;
  }
  plan.stretches = std::move(stretches);
  return plan;
}

std::optional<CheckpointPlan> cheapest_checkpoints(std::span<const CheckpointPlan::Stage> chain,
                                                   std::int64_t cap) {
  std::vector<std::vector<State>> passed(chain.size() + 1);
  passed[0].emplace_back();
  for (std::size_t first = 0; first < chain.size(); ++first) {
    keep_best(passed[first]);
    each_from(chain, first, [&](const PricedStretch& each) {
      for (std::size_t place = 0; place < passed[first].size(); ++place) {
        const State& state = passed[first][place];
        if (state.kept + each.peak <= cap) {
          passed[each.stretch.last + 1].push_back(
              {state.kept + each.kept, state.cost + each.cost, place, each.stretch});
        }
      }
    });
  }
  const std::vector<State>& ends = passed.back();
  if (ends.empty()) {
    return std::nullopt;
  }
  const State* at = &*std::min_element(
      ends.begin(), ends.end(), [](const State& a, const State& b) { return a.cost < b.cost; });
  std::vector<CheckpointPlan::Stretch> stretches;
  for (std::size_t end = chain.size(); end > 0;) {
    stretches.push_back(at->stretch);
    end = at->stretch.first;
    at = &passed[end][at->before];
  }
  std::reverse(stretches.begin(), stretches.end());
  return price_stretches(chain, std::move(stretches));
}

CheckpointPlan smallest_checkpoints(std::span<const CheckpointPlan::Stage> chain) {
  std::int64_t enough = keep_all(chain).peak;
  std::int64_t too_small = -1;
  while (enough - too_small > 1) {
    const std::int64_t cap = too_small + (enough - too_small) / 2;
    (fits(chain, cap) ? enough : too_small) = cap;
  }
  std::optional<CheckpointPlan> best = cheapest_checkpoints(chain, enough);
  PLUMB_CHECK(best.has_value());
  return *std::move(best);
}

std::vector<CheckpointPlan> checkpoint_front(std::span<const CheckpointPlan::Stage> chain,
                                             std::size_t caps) {
  std::vector<CheckpointPlan> front{smallest_checkpoints(chain)};
  const std::int64_t least = front.front().peak;
  const std::int64_t most = keep_all(chain).peak;
  for (std::size_t i = 1; i <= caps; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(caps);
    const std::int64_t cap =
        i == caps ? most
                  : least + static_cast<std::int64_t>(share * static_cast<double>(most - least));
    std::optional<CheckpointPlan> plan = cheapest_checkpoints(chain, cap);
    PLUMB_CHECK(plan.has_value());
    if (plan->recomputation < front.back().recomputation) {
      front.push_back(*std::move(plan));
    }
  }
  return front;
}

}  // namespace plumb::rewrite
