// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_cost.hpp"

namespace plumb::engine {
namespace {

constexpr std::size_t kBits = 64;

}  // namespace

std::vector<std::size_t> in_order(const StepNeeds& needs) {
  std::vector<std::size_t> open(needs.size());
  StepNeeds users(needs.size());
  std::vector<std::size_t> ready;
  for (std::size_t step = 0; step < needs.size(); ++step) {
    open[step] = needs[step].size();
    for (const std::size_t need : needs[step]) {
      users.at(need).push_back(step);
    }
    if (open[step] == 0) {
      ready.push_back(step);
    }
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {
    for (const std::size_t user : users[ready[next]]) {
      if (--open[user] == 0) {
        ready.push_back(user);
      }
    }
  }
  PLUMB_CHECK(ready.size() == needs.size());
  return ready;
}

MemoryPlan::Order::Order(const StepNeeds& needs) : reached_(needs.size()) {
  for (const std::size_t step : in_order(needs)) {
    std::vector<std::uint64_t>& reached = reached_[step];
    reached.resize(needs.size() / kBits + 1);
    for (const std::size_t need : needs[step]) {
      // Steps come after their needs here, so the bits of each need are complete.
      for (std::size_t word = 0; word < reached.size(); ++word) {
        reached[word] |= reached_[need][word];
      }
      reached[need / kBits] |= std::uint64_t{1} << (need % kBits);
    }
  }
}

bool MemoryPlan::Order::before(std::size_t earlier, std::size_t later) const {
  return (reached_.at(later).at(earlier / kBits) >> (earlier % kBits) & 1U) != 0;
}

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

namespace {

struct Placed {
  std::size_t begin;
  std::size_t end;
};

std::size_t aligned(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool live_together(const MemoryPlan::Piece& a, const MemoryPlan::Piece& b) {
  return a.steps.front() <= b.steps.back() && b.steps.front() <= a.steps.back();
}

/// Returns the lowest offset at which `bytes` fit between pieces that are sorted by their begin.
std::size_t lowest_gap(const std::vector<Placed>& pieces, std::size_t bytes) {
  std::size_t offset = 0;
  for (const Placed& piece : pieces) {
    if (offset + bytes <= piece.begin) {
      break;
    }
    offset = std::max(offset, piece.end);
  }
  return offset;
}

/// Returns whether all uses of `earlier` always finish before `later` is written.
bool ends_before(const MemoryPlan::Piece& earlier,
                 const MemoryPlan::Piece& later,
                 const MemoryPlan::Order& order) {
  return std::all_of(earlier.steps.begin(), earlier.steps.end(), [&](std::size_t step) {
    return order.before(step, later.steps.front());
  });
}

/// Places pieces, the largest first. `together(a, b)` returns whether two of them must not share
/// bytes.
template <typename Together>
MemoryPlan placed(std::span<const MemoryPlan::Piece> pieces,
                  std::size_t alignment,
                  const Together& together) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return pieces[a].bytes > pieces[b].bytes;
  });
  MemoryPlan plan;
  plan.offsets.resize(pieces.size());
  std::vector<std::size_t> done;
  for (const std::size_t index : order) {
    std::vector<Placed> neighbours;
    for (const std::size_t other : done) {
      if (together(pieces[index], pieces[other])) {
        neighbours.push_back(
            {plan.offsets[other], plan.offsets[other] + aligned(pieces[other].bytes, alignment)});
      }
    }
    std::sort(neighbours.begin(), neighbours.end(), [](const Placed& a, const Placed& b) {
      return a.begin < b.begin;
    });
    const std::size_t bytes = aligned(pieces[index].bytes, alignment);
    plan.offsets[index] = lowest_gap(neighbours, bytes);
    plan.bytes = std::max(plan.bytes, plan.offsets[index] + bytes);
    done.push_back(index);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(std::span<const MemoryPlan::Piece> pieces, std::size_t alignment) {
  return placed(pieces, alignment, live_together);
}

MemoryPlan plan_memory(std::span<const MemoryPlan::Piece> pieces, const MemoryPlan::Order& order) {
  return placed(
      pieces, MemoryPlan::kAlignment, [&](const MemoryPlan::Piece& a, const MemoryPlan::Piece& b) {
        return !ends_before(a, b, order) && !ends_before(b, a, order);
      });
}

namespace {

constexpr int kSpins = 20'000;  // tens of microseconds

}  // namespace

void spin_until(const std::function<bool()>& ready) {
  for (int spins = 0; !ready(); ++spins) {
    if (spins > kSpins) {
      std::this_thread::yield();
    }
  }
}

BranchSchedule::Team::Team(std::size_t lanes, const std::function<void(std::size_t)>& begin) {
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    threads_.emplace_back([this, lane, begin] {
      begin(lane);
      serve(lane);
    });
  }
}

BranchSchedule::Team::~Team() {
  leave_ = true;
  ++piece_;
  piece_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void BranchSchedule::Team::run(const std::function<void(std::size_t)>& work) {
  work_ = &work;
  busy_ = threads_.size();
  ++piece_;
  piece_.notify_all();
  work(0);
  spin_until([this] { return busy_ == 0; });
}

void BranchSchedule::Team::await_piece(std::uint64_t done) const {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (piece_ != done) {
      return;
    }
  }
  piece_.wait(done);
}

void BranchSchedule::Team::serve(std::size_t lane) {
  for (std::uint64_t done = 0;; ++done) {
    await_piece(done);
    if (leave_) {
      return;
    }
    (*work_)(lane);
    --busy_;
  }
}

}  // namespace plumb::engine
