// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/loadgen/load_clock.hpp"
#include "harness/loadgen/system_under_test.hpp"

namespace plumb::fake {

using Nanoseconds = std::chrono::nanoseconds;

/// Clock whose time passes only while the load waits for it. Planned events happen at their time.
class ScriptedClock final : public loadgen::LoadClock {
 public:
  explicit ScriptedClock(Nanoseconds start = std::chrono::hours(7)) : time_(start) {}

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
  bool wait_for(loadgen::CompletionCount& count,
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

/// System that answers each query as a function decides: after a latency, or never.
class ScriptedSystem final : public loadgen::SystemUnderTest {
 public:
  struct Issue {
    Nanoseconds time{};  ///< after the first issue of the run
    std::vector<loadgen::QuerySample> samples;
  };
  using OnIssue = std::function<void(ScriptedSystem& system, const Issue& query)>;

  ScriptedSystem(ScriptedClock& time, OnIssue on_issue)
      : clock(time), on_issue_(std::move(on_issue)) {}

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
  void issue(std::span<const loadgen::QuerySample> samples) override {
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
      std::vector<loadgen::SampleResponse> responses;
      responses.reserve(samples.size());
      for (const loadgen::QuerySample& sample : samples) {
        responses.push_back({sample.id, {}});
      }
      answers->complete(responses);
    });
  }

  ScriptedClock& clock;
  std::shared_ptr<loadgen::Completions> answers;
  std::vector<Issue> issues;  ///< since start()
  int starts = 0;
  int flushes = 0;

 private:
  OnIssue on_issue_;
  Nanoseconds first_{};
};

}  // namespace plumb::fake
