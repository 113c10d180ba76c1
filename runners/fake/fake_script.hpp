// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/loadgen/system_under_test.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"

namespace plumb::fake {

/// Script of a fake worker. docs/reference/fake-backend.md describes the file.
struct Script {
  /// Rule for the rows whose key and variant match. The first rule that matches wins.
  struct Rule {
    /// Actions taken before the row is emitted.
    enum class Action {
      kNone,
      kCrash,        ///< abort()
      kExit,         ///< leaves with status 3
      kStop,         ///< stops itself (SIGSTOP), as from outside
      kHang,         ///< never answers again
      kFlood,        ///< writes 16 MiB to stdout, then goes on
      kOutOfMemory,  ///< throws std::bad_alloc
      kFail,         ///< throws Error{kInternal}
    };

    std::string match = "*";  ///< the key's text; '*' matches any characters
    std::string variant =
        "*";  ///< the variant's text; "*" with an outcome without a time refuses the whole key
    results::Outcome outcome{};
    Action action = Action::kNone;
    std::filesystem::path once{};   ///< made by the first worker that acts; then no other does
    std::optional<Seconds> time{};  ///< instead of the computed time
    Seconds delay{};                ///< for which the worker really waits
    std::filesystem::path hold{};   ///< a file: while it exists, the worker waits
    std::string log{};              ///< text that is written to stderr
    std::string output{};           ///< text that decides the output's bits
    std::optional<double> error{};  ///< the maximum error, instead of 0
    results::Attributes attributes{};
    results::Readings readings{};
    bool disturbed = false;          ///< marks the row as measured on a disturbed host
    Bytes memory{};                  ///< of a model's execution
    results::Attributes profiled{};  ///< attributes that only a worker that profiles sees
    results::Readings counted{};     ///< readings that only a worker that counts sees
  };

  /// Noise of measured processes, which scripted ones play back.
  ///
  /// The nth process that measures something takes the nth factor of a file, round and round. A
  /// second file counts the processes. So pairs of processes differ as the recorded pairs did.
  class Noise {
   public:
    /// `factors` has a number a line, and comments after '#'. `counter` is made where it is absent.
    Noise(std::filesystem::path factors, std::filesystem::path counter);

    /// Returns the factor of this process, the same for each call. Throws Error{kUser} for a file
    /// that has no factors, Error{kEnvironment} for a counter that cannot be written.
    [[nodiscard]] double factor() const;

   private:
    std::filesystem::path factors_;
    std::filesystem::path counter_;
    mutable std::optional<double> factor_;  // taken when the first time is computed
  };

  results::Environment environment;  ///< the answer of describe()
  results::Calibration calibration;
  std::vector<Rule> rules;
  std::vector<std::string> variants{
      "algorithm=direct", "algorithm=gemm", "algorithm=winograd"};  ///< of each key, the choice of
                                                                    ///< the library first
  double slowness = 1.0;         ///< factor of every time (PLUMB_FAKE_SLOWNESS)
  std::optional<Noise> noise{};  ///< factors of the processes' times; absent: none

  /// Finds the first rule for a key and variant; null if there is none.
  [[nodiscard]] const Rule* rule_for(std::string_view key, std::string_view variant) const;
};

/// Returns the script of a worker without one: every key works, and there is no rule.
[[nodiscard]] Script default_script();

/// Reads a script in TOML. Throws Error{kUser} naming the line that is wrong.
[[nodiscard]] Script read_script(const std::filesystem::path& path);

using Nanoseconds = std::chrono::nanoseconds;

/// System that answers each query as a function decides: after a latency, or never.
class ScriptedSystem final : public loadgen::SystemUnderTest {
 public:
  /// Clock whose time passes only while the load waits for it. Planned events happen at their time.
  class Clock final : public loadgen::LoadClock {
   public:
    explicit Clock(Nanoseconds start = std::chrono::hours(7)) : time_(start) {}

    void plan(Nanoseconds after, std::function<void()> event) {
      events_.emplace(time_ + after, std::move(event));
    }
    /// Lets `time` pass, as if the caller had worked for so long.
    void spend(Nanoseconds time) { wait_until(time_ + time); }

    [[nodiscard]] Nanoseconds now() const override { return time_; }
    Nanoseconds wait_until(Nanoseconds deadline) override {
      while (!events_.empty() && events_.begin()->first <= deadline) {
        play_next();
      }
      time_ = std::max(time_, deadline);
      return time_;
    }
    bool wait_for(loadgen::LoadClock::CompletionCount& count,
                  std::uint64_t target,
                  Nanoseconds deadline) override {
      while (count.value() < target && !events_.empty() && events_.begin()->first <= deadline) {
        play_next();
      }
      if (count.value() < target) {
        time_ = std::max(time_, deadline);
      }
      return count.value() >= target;
    }

   private:
    void play_next() {
      const auto first = events_.begin();
      time_ = std::max(time_, first->first);
      const std::function<void()> event = std::move(first->second);
      events_.erase(first);
      event();
    }

    Nanoseconds time_;
    std::multimap<Nanoseconds, std::function<void()>> events_;
  };

  struct Issue {
    Nanoseconds time{};  ///< after the first issue of the run
    std::vector<loadgen::SystemUnderTest::Sample> samples;
  };
  using OnIssue = std::function<void(ScriptedSystem& system, const Issue& query)>;

  ScriptedSystem(Clock& time, OnIssue on_issue) : clock(time), on_issue_(std::move(on_issue)) {}

  /// Makes a function that answers every query at once, after a latency that depends on its number.
  static OnIssue after(std::function<Nanoseconds(std::size_t number)> latency) {
    return [latency = std::move(latency)](ScriptedSystem& system, const Issue& query) {
      system.answer(query, latency(system.issues.size() - 1));
    };
  }

  [[nodiscard]] std::string describe() const override { return "scripted"; }
  void start(std::shared_ptr<loadgen::Completions> completions) override {
    answers = std::move(completions);
    issues.clear();
    ++starts;
  }
  void issue(std::span<const loadgen::SystemUnderTest::Sample> samples) override {
    if (issues.empty()) {
      first_ = clock.now();
    }
    issues.push_back({clock.now() - first_, {samples.begin(), samples.end()}});
    const Issue query = issues.back();
    on_issue_(*this, query);
  }
  void flush() override { ++flushes; }

  void answer(const Issue& query, Nanoseconds after) {
    clock.plan(after, [answers = answers, samples = query.samples] {
      std::vector<loadgen::Completions::Response> responses;
      responses.reserve(samples.size());
      for (const loadgen::SystemUnderTest::Sample& sample : samples) {
        responses.push_back({sample.id, {}});
      }
      answers->complete(responses);
    });
  }

  Clock& clock;
  std::shared_ptr<loadgen::Completions> answers;
  std::vector<Issue> issues;  ///< since start()
  int starts = 0;
  int flushes = 0;

 private:
  OnIssue on_issue_;
  Nanoseconds first_{};
};

}  // namespace plumb::fake
