// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/budgeted_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace plumb::loadgen {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

constexpr Seconds kSizing{0.5};   // of the load that sizes offline's query
constexpr Seconds kProbe{1.0};    // of a peak search, at most,
constexpr double kLimits = 4.0;   // but at least so many latency limits
constexpr Seconds kSearch{60.0};  // for all probes without a budget, at least

/// Size of offline's one query where the budget does not allow for all of it.
struct CutQuery {
  std::uint64_t wanted = 0;
  std::uint64_t allowed = 0;
};

class Loading {
 public:
  Loading(const RequestedLoad& asked,
          const std::optional<Seconds>& budget,
          SystemUnderTest& system,
          LoadClock& clock,
          const std::function<void(const std::string&)>& enter)
      : budget_(budget), system_(system), clock_(clock), enter_(enter), begin_(clock.now()) {
    load_.requested = asked;
  }

  void run() {
    RequestedLoad& asked = load_.requested;
    if (asked.scenario == LoadScenario::kServer && !asked.target_rate) {
      search();
      return;
    }
    const bool one_query = asked.scenario == LoadScenario::kOffline && !asked.fixed_duration;
    const CutQuery cut = one_query ? size_query() : CutQuery{};
    limit(asked);
    enter_("running");
    load_.result = run_load(resolve_load(asked), system_, clock_);
    judge(cut);
  }

  [[nodiscard]] BudgetedLoad take() { return std::move(load_); }

 private:
  [[nodiscard]] Seconds elapsed() const { return clock_.now() - begin_; }

  /// Returns the rest of the budget, at least a millisecond. A load without time then still runs,
  /// and says so.
  [[nodiscard]] std::optional<Seconds> left() const {
    constexpr Seconds kLeast{1e-3};
    return budget_ ? std::optional(std::max(*budget_ - elapsed(), kLeast)) : std::nullopt;
  }

  /// Limits a load to the rest of the budget.
  void limit(RequestedLoad& asked) const {
    if (const std::optional<Seconds> most = left()) {
      asked.maximum_duration = std::min(asked.maximum_duration.value_or(*most), *most);
    }
  }

  void search() {
    limit(load_.requested);
    const EffectiveLoad load = resolve_load(load_.requested);
    PeakSearch search;
    // An overloaded queue grows without end, and takes a few limits to show.
    search.probe_duration = std::max(std::min(kProbe, Seconds(load.minimum_duration)),
                                     Seconds(load.latency_limit.value_or(Nanoseconds{})) * kLimits);
    search.budget = left();
    search.probe_budget = std::max(kSearch, Seconds(load.minimum_duration) * 2.0);
    if (search.budget) {
      // The confirmation needs its full duration, or at least half of the budget.
      const Seconds spare = *search.budget - Seconds(load.minimum_duration + load.warm_up);
      search.probe_budget = std::min(*search.probe_budget, std::max(spare, *search.budget * 0.5));
    }
    enter_("searching for the peak");
    PeakResult peak = find_peak(load, search, system_, clock_);
    if (!peak.probes.empty()) {
      load_.result = peak.probes.back().result;
      if (!peak.rate && load_.result->valid()) {
        // A probe that passed is not a result, because it was too short for one.
        load_.result->shortfalls.push_back({Shortfall::Kind::kDuration,
                                            Seconds(load.minimum_duration).count(),
                                            Seconds(load_.result->last_issue).count(),
                                            peak.reason});
      }
    }
    load_.peak = std::move(peak);
  }

  /// Sets the size of offline's query: samples for the minimum duration, cut to what the budget
  /// allows.
  CutQuery size_query() {
    RequestedLoad& asked = load_.requested;
    if (!asked.expected_rate) {
      enter_("finding the rate");
      RequestedLoad sizing = asked;
      sizing.minimum_duration.reset();
      sizing.samples_per_query.reset();
      sizing.warm_up.reset();
      sizing.fixed_duration = kSizing;
      const LoadResult result = run_load(resolve_load(sizing), system_, clock_);
      if (result.samples_per_second > 0.0) {
        asked.expected_rate = result.samples_per_second;
      }
    }
    const std::optional<Seconds> most = left();
    CutQuery cut{resolve_load(asked).samples_per_query, 0};
    if (most && asked.expected_rate) {
      cut.allowed = static_cast<std::uint64_t>(
          std::max(1.0, std::floor(*asked.expected_rate * most->count())));
      if (cut.allowed < cut.wanted) {
        asked.samples_per_query = cut.allowed;
        asked.expected_rate.reset();
        return cut;
      }
    }
    return {};
  }

  /// Records in the result that the budget cut the query.
  void judge(const CutQuery& cut) {
    if (cut.wanted == 0 || !load_.result) {
      return;
    }
    const std::string why = fmt::format("the budget of {:.6g} s allowed for {} of {} samples",
                                        budget_.value_or(Seconds(0)).count(),
                                        cut.allowed,
                                        cut.wanted);
    std::vector<Shortfall>& shortfalls = load_.result->shortfalls;
    const auto duration =
        std::find_if(shortfalls.begin(), shortfalls.end(), [](const Shortfall& shortfall) {
          return shortfall.kind == Shortfall::Kind::kDuration;
        });
    if (duration != shortfalls.end()) {
      duration->text += "; " + why;
      return;
    }
    shortfalls.push_back({Shortfall::Kind::kCount,
                          static_cast<double>(cut.wanted),
                          static_cast<double>(cut.allowed),
                          why});
  }

  const std::optional<Seconds>& budget_;
  SystemUnderTest& system_;
  LoadClock& clock_;
  const std::function<void(const std::string&)>& enter_;
  Nanoseconds begin_;
  BudgetedLoad load_;
};

}  // namespace

BudgetedLoad run_within(const RequestedLoad& asked,
                        const std::optional<Seconds>& budget,
                        SystemUnderTest& system,
                        LoadClock& clock,
                        const std::function<void(const std::string&)>& enter) {
  Loading loading(asked, budget, system, clock, enter);
  loading.run();
  return loading.take();
}

}  // namespace plumb::loadgen
