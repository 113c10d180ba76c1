// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/budgeted_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::loadgen {
namespace {

using Nanoseconds = std::chrono::nanoseconds;
using Purpose = BudgetedLoad::Probe::Purpose;

constexpr double kLowest = 1e-6;  // of a target rate: the search goes no lower
// Of the unloaded rate. A system that is idle for 63/64 of the time keeps its limit no better when
// it is idle for longer.
constexpr double kLowestOfUnloaded = 1.0 / 64.0;
constexpr auto kUnloadedDuration = std::chrono::milliseconds(200);
constexpr double kProbeOverrun = 3.0;  // planned durations after which a probe is given up

class PeakFinder {
 public:
  PeakFinder(const EffectiveLoad& load,
             const BudgetedLoad::Search& search,
             SystemUnderTest& system,
             LoadClock& clock)
      : load_(load), search_(search), system_(system), clock_(clock), begin_(clock.now()) {}

  BudgetedLoad::Peak find() {
    const double first = load_.target_rate ? *load_.target_rate : unloaded_rate();
    if (first > 0.0) {
      bracket(first);
      bisect();
      confirm();
    }
    if (!result_.rate && result_.reason.empty()) {
      result_.reason = "no rate kept the latency limit";
      if (!result_.probes.empty() && !result_.probes.back().result.valid()) {
        result_.reason += ": " + result_.probes.back().result.shortfalls.front().text;
      }
    }
    return std::move(result_);
  }

 private:
  /// Returns the rate of the system with one query at a time. 0 if it answers none.
  double unloaded_rate() {
    EffectiveLoad single = load_;
    single.scenario = RequestedLoad::Scenario::kSingleStream;
    single.target_rate.reset();
    single.latency_limit.reset();
    single.fixed_duration = true;
    single.minimum_duration = kUnloadedDuration;
    single.minimum_queries = 1;
    LoadResult result = run_load(single, system_, clock_);
    const double rate = result.queries_per_second;
    if (rate <= 0.0) {
      result_.reason = "the system does not answer queries: ";
      result_.reason += result.valid() ? "" : result.shortfalls.front().text;
    }
    result_.probes.push_back({Purpose::kUnloaded, rate, std::move(result)});
    return rate;
  }

  [[nodiscard]] Seconds elapsed() const { return clock_.now() - begin_; }

  [[nodiscard]] bool may_go_on() {
    const std::optional<Seconds> budget =
        search_.probe_budget ? search_.probe_budget : search_.budget;
    const bool spent = budget && elapsed() >= *budget;
    if (spent || result_.probes.size() >= search_.probes_at_most) {
      result_.reason = spent
                           ? fmt::format("the budget of {:.6g} s ended the search", budget->count())
                           : fmt::format("{} probes were not enough", result_.probes.size());
      return false;
    }
    return true;
  }

  /// Runs a probe at this rate and returns whether the load is valid.
  bool probe(double rate) {
    EffectiveLoad probe = load_;
    probe.target_rate = rate;
    probe.warm_up = Nanoseconds{};
    probe.fixed_duration = false;
    probe.minimum_duration = Nanoseconds{};
    probe.minimum_queries =
        std::max(queries_needed(load_.rule, search_.probe_over),
                 static_cast<std::uint64_t>(std::ceil(rate * search_.probe_duration.count())));
    // With more late queries than this, early stopping cannot pass, and the probe may end.
    probe.over_latency_at_most = estimate_rank(load_.rule, probe.minimum_queries).value_or(0);
    const Seconds planned(static_cast<double>(probe.minimum_queries) / rate);
    probe.maximum_duration = std::chrono::round<Nanoseconds>(
        std::min(planned * kProbeOverrun + Seconds(1.0), Seconds(std::chrono::hours(24))));
    LoadResult result = run_load(probe, system_, clock_);
    const bool passed = result.valid();
    result_.probes.push_back({Purpose::kProbe, rate, std::move(result)});
    if (passed) {
      result_.highest_passed = std::max(result_.highest_passed, rate);
    } else {
      result_.lowest_failed = std::min(result_.lowest_failed.value_or(rate), rate);
    }
    return passed;
  }

  void bracket(double first) {
    const double lowest = first * (load_.target_rate ? kLowest : kLowestOfUnloaded);
    double rate = first;
    if (!may_go_on()) {
      return;
    }
    if (probe(rate)) {
      do {
        rate *= 2.0;
      } while (may_go_on() && probe(rate));
      return;
    }
    do {
      rate *= 0.5;
    } while (rate > lowest && may_go_on() && !probe(rate));
  }

  void bisect() {
    while (result_.highest_passed > 0.0 && result_.lowest_failed &&
           *result_.lowest_failed > result_.highest_passed * (1.0 + search_.precision) &&
           may_go_on()) {
      probe(0.5 * (result_.highest_passed + *result_.lowest_failed));
    }
  }

  void confirm() {
    double rate = result_.highest_passed;
    if (rate <= 0.0) {
      return;
    }
    for (std::uint64_t i = 0; i < search_.confirmations_at_most; ++i) {
      if (search_.budget && elapsed() >= *search_.budget) {
        result_.reason = fmt::format("the budget of {:.6g} s left no time to confirm a rate",
                                     search_.budget->count());
        return;
      }
      EffectiveLoad full = load_;
      full.target_rate = rate;
      if (search_.budget) {
        const auto left = std::chrono::round<Nanoseconds>(*search_.budget - elapsed());
        full.maximum_duration = std::min(full.maximum_duration.value_or(left), left);
      }
      result_.probes.push_back({Purpose::kConfirmation, rate, run_load(full, system_, clock_)});
      if (result_.probes.back().result.valid()) {
        result_.rate = rate;
        return;
      }
      rate /= 1.0 + search_.precision;
    }
    result_.reason =
        fmt::format("{} full runs below {:.6g} queries/s were invalid, the last because {}",
                    search_.confirmations_at_most,
                    result_.highest_passed,
                    result_.probes.back().result.shortfalls.front().text);
  }

  const EffectiveLoad& load_;
  const BudgetedLoad::Search& search_;
  SystemUnderTest& system_;
  LoadClock& clock_;
  Nanoseconds begin_;
  BudgetedLoad::Peak result_;
};

}  // namespace

std::string_view to_text(BudgetedLoad::Probe::Purpose purpose) {
  switch (purpose) {
    case BudgetedLoad::Probe::Purpose::kUnloaded:
      return "unloaded";
    case BudgetedLoad::Probe::Purpose::kProbe:
      return "probe";
    case BudgetedLoad::Probe::Purpose::kConfirmation:
      return "confirmation";
  }
  return "unknown";
}

BudgetedLoad::Peak find_peak(const EffectiveLoad& load,
                             const BudgetedLoad::Search& search,
                             SystemUnderTest& system,
                             LoadClock& clock) {
  if (load.scenario != RequestedLoad::Scenario::kServer ||
      load.mode != RequestedLoad::Mode::kPerformance || !load.latency_limit) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("only server in performance mode, with a latency limit, has a peak: this "
                    "load is {}",
                    to_text(load.scenario)));
  }
  if (!(search.precision >= 1e-4 && search.precision <= 1.0) ||
      !(search.probe_duration.count() >= 0.0 && search.probe_duration.count() <= 86'400.0) ||
      search.probe_over > 1'000'000 || search.confirmations_at_most == 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("the peak search needs a precision between 0.0001 and 1 (not {}), "
                            "probes between 0 s and a day (not {} s), and a confirmation",
                            search.precision,
                            search.probe_duration.count()));
  }
  return PeakFinder(load, search, system, clock).find();
}

namespace {

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
    if (asked.scenario == RequestedLoad::Scenario::kServer && !asked.target_rate) {
      search();
      return;
    }
    const bool one_query =
        asked.scenario == RequestedLoad::Scenario::kOffline && !asked.fixed_duration;
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
    constexpr Seconds kMinBudget{1e-3};
    return budget_ ? std::optional(std::max(*budget_ - elapsed(), kMinBudget)) : std::nullopt;
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
    BudgetedLoad::Search search;
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
    BudgetedLoad::Peak peak = find_peak(load, search, system_, clock_);
    if (!peak.probes.empty()) {
      load_.result = peak.probes.back().result;
      if (!peak.rate && load_.result->valid()) {
        // A probe that passed is not a result, because it was too short for one.
        load_.result->shortfalls.push_back({LoadResult::Shortfall::Kind::kDuration,
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
    std::vector<LoadResult::Shortfall>& shortfalls = load_.result->shortfalls;
    const auto duration = std::find_if(
        shortfalls.begin(), shortfalls.end(), [](const LoadResult::Shortfall& shortfall) {
          return shortfall.kind == LoadResult::Shortfall::Kind::kDuration;
        });
    if (duration != shortfalls.end()) {
      duration->text += "; " + why;
      return;
    }
    shortfalls.push_back({LoadResult::Shortfall::Kind::kCount,
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
