// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>

#include "harness/base/units.hpp"

namespace plumb::loadgen {

/// Returns the fraction that a percentile in % stands for, without the rounding of a division. 99.9
/// gives the double nearest to 0.999.
[[nodiscard]] double fraction_of(double percent);

/// Load as requested. An absent value takes MLPerf's value for the scenario, which the comments
/// give.
struct RequestedLoad {
  /// Ways to load a system, as in MLPerf Inference (rules, "Scenarios").
  enum class Scenario {
    kSingleStream,  ///< one sample a query; the next query follows the completion of the last
    kMultiStream,   ///< the same with several samples a query, contiguous in the data set
    kServer,   ///< one sample a query, Poisson arrivals at a target rate, any number outstanding
    kOffline,  ///< all samples are available at the start
  };

  /// Purpose of a run: to measure, or to log every response.
  enum class Mode {
    kPerformance,  ///< samples drawn from the loaded part of the data set; latencies judged
    kAccuracy,     ///< every sample of the data set once; every response logged; no latency judged
  };

  /// Seeds of a run's random numbers. LoadGen calls them sample_index, schedule and qsl.
  struct Seeds {
    std::uint64_t samples = 1;   ///< which samples are drawn
    std::uint64_t schedule = 1;  ///< when Server's queries arrive
    std::uint64_t data_set = 1;  ///< the order of the data set's samples
  };

  Scenario scenario = Scenario::kSingleStream;
  Mode mode = Mode::kPerformance;
  std::optional<Seconds> minimum_duration;  ///< 600 s
  /// Duration after which the run ends, whatever the number of queries. No rate, latency or count
  /// need then be guessed. Excludes minimum_duration and minimum_queries.
  std::optional<Seconds> fixed_duration;
  std::optional<Seconds> maximum_duration;       ///< budget, after which nothing is issued; none
  std::optional<std::uint64_t> minimum_queries;  ///< 100; multi_stream 662; offline 1
  /// Samples in each query: multi_stream 8, offline 24,576 in its one query, else 1. If offline has
  /// a fixed duration, it is the number in each of its queries, by default all loaded samples.
  /// Choose more than the system has in flight.
  std::optional<std::uint64_t> samples_per_query;
  std::optional<double> percentile;      ///< in %: single_stream 90, else 99
  std::optional<Seconds> latency_limit;  ///< at that percentile; server needs it
  std::optional<double> target_rate;     ///< queries a second; server needs it, or a peak search
  std::optional<double>
      expected_rate;               ///< samples a second: sizes offline's query for the duration
  std::optional<Seconds> warm_up;  ///< the same load before, untimed; none
  std::optional<Seconds>
      stall_limit;  ///< longest wait for a completion before the rest is dropped; 60 s
  std::optional<std::uint64_t>
      loaded_samples;               ///< of the data set, drawn from in performance mode; all
  std::uint64_t total_samples = 1;  ///< of the data set
  Seeds seeds;
};

[[nodiscard]] std::string_view to_text(RequestedLoad::Scenario scenario);  ///< "single_stream", …

[[nodiscard]] std::optional<RequestedLoad::Scenario> parse_load_scenario(std::string_view text);

[[nodiscard]] std::string_view to_text(RequestedLoad::Mode mode);  ///< "performance", "accuracy"

/// Seeds of MLPerf Inference v6.1. With them a rate has the same arrivals as in every MLPerf run.
inline constexpr RequestedLoad::Seeds kMlperfSeeds{.samples = 2747215439041700203U,
                                                   .schedule = 16159082839903944936U,
                                                   .data_set = 2085463073848966840U};

/// Load with every value explicit and checked, as it runs and as a result stores it.
struct EffectiveLoad {
  /// Poisson schedule of Server's queries. The first arrives at 0. Gaps are exponential with mean
  /// 1/rate, each cut to whole nanoseconds.
  ///
  /// The numbers are those of MLPerf's LoadGen for the same seed and rate. The generator is
  /// MT19937, seeded with the low 32 bits. Two draws give a number u, rounded to the 53 bits of a
  /// double, and gap = -ln(1 - u)/rate. This is libstdc++'s exponential_distribution, written out
  /// because the standard does not fix it. Nothing is stored, so a schedule of any length costs no
  /// memory.
  class Arrivals {
   public:
    Arrivals(std::uint64_t seed, double rate)
        : generator_(static_cast<std::mt19937::result_type>(seed)), rate_(rate) {}

    /// Returns when the next query is due, after the start.
    std::chrono::nanoseconds next() {
      const std::chrono::nanoseconds due = next_;
      const double low = static_cast<double>(generator_());
      const double high = static_cast<double>(generator_());
      double u = (low + high * 0x1p32) * 0x1p-64;
      u = u < 1.0 ? u : std::nextafter(1.0, 0.0);
      next_ += std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::duration<double>(-std::log(1.0 - u) / rate_));
      return due;
    }

   private:
    std::mt19937 generator_;
    double rate_;
    std::chrono::nanoseconds next_{};
  };

  /// Confidence that an end-to-end result must show, as in MLPerf Inference. At least `percentile`
  /// % of all queries must keep a bound with this confidence, as if queries were independent. The
  /// rules have it in the appendix "Early Stopping Criterion", with tolerance 0.
  struct ConfidenceRule {
    double percentile = 99.0;  ///< in %, 0 < percentile < 100
    double confidence = 0.99;
  };

  using Nanoseconds = std::chrono::nanoseconds;

  RequestedLoad::Scenario scenario = RequestedLoad::Scenario::kSingleStream;
  RequestedLoad::Mode mode = RequestedLoad::Mode::kPerformance;
  Nanoseconds minimum_duration{};
  bool fixed_duration = false;  ///< minimum_duration ends the run whatever the count
  std::optional<Nanoseconds> maximum_duration;
  std::uint64_t minimum_queries = 1;
  std::uint64_t samples_per_query = 1;
  ConfidenceRule rule;
  std::optional<Nanoseconds> latency_limit;
  std::optional<double> target_rate;  ///< queries a second
  Nanoseconds warm_up{};
  Nanoseconds stall_limit{};
  /// Server: number of latencies over the limit beyond which the run ends. The planned
  /// minimum_queries can then no longer pass. For probes.
  std::optional<std::uint64_t> over_latency_at_most;
  std::uint64_t loaded_samples = 1;
  std::uint64_t total_samples = 1;
  RequestedLoad::Seeds seeds;
};

/// Returns the fewest queries of which `over` may exceed the bound. It is the least n with
/// P(Binomial(n, 1 - p) ≤ over) < 1 - confidence. That probability is I_p(n - over, over + 1), the
/// regularised incomplete beta function.
[[nodiscard]] std::uint64_t queries_needed(const EffectiveLoad::ConfidenceRule& rule,
                                           std::uint64_t over);

/// Returns the rank, from the largest, of the latency that estimates the percentile. It is the
/// largest t ≥ 1 with queries_needed(t) ≤ `queries`. The t - 1 larger latencies are dropped. Absent
/// if there are too few queries for t = 1.
[[nodiscard]] std::optional<std::uint64_t> estimate_rank(const EffectiveLoad::ConfidenceRule& rule,
                                                         std::uint64_t queries);

/// Fills in absent values and checks a load. Throws Error{kUser} for a negative or endless time, a
/// percentile outside (0, 100), a limit that the scenario needs or cannot have, and more than 2^26
/// samples in a query. Server without a target rate stays without one, which find_peak() finds.
[[nodiscard]] EffectiveLoad resolve_load(const RequestedLoad& requested);

/// Returns the accuracy run of a load, which asks each of `samples` samples once.
[[nodiscard]] RequestedLoad accuracy_load(const RequestedLoad& load, std::uint64_t samples);

/// Scenario of MLPerf Inference by which a model is executed or loaded, as suites and results name
/// it.
enum class ScenarioName {
  kSingleStream,
  kMultiStream,
  kServer,
  kInteractive,  ///< server with limits of tokens
  kOffline,
};
inline constexpr std::array kScenarioNames{ScenarioName::kSingleStream,
                                           ScenarioName::kMultiStream,
                                           ScenarioName::kServer,
                                           ScenarioName::kInteractive,
                                           ScenarioName::kOffline};
[[nodiscard]] std::string_view to_text(ScenarioName scenario);  ///< "single_stream", …
[[nodiscard]] std::optional<ScenarioName> parse_scenario_name(std::string_view text);

/// Returns the way to load that a scenario takes. Interactive is loaded as server is.
[[nodiscard]] RequestedLoad::Scenario load_scenario(ScenarioName scenario);
/// Returns the scenario of a load that no suite named.
[[nodiscard]] ScenarioName name_of(RequestedLoad::Scenario scenario);

}  // namespace plumb::loadgen
