// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/bisection_search.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/paired/paired_run.hpp"
#include "harness/session/paired/sequential_rounds.hpp"
#include "harness/session/stored/stored_noise.hpp"
#include "harness/stacks/stack_probe.hpp"

namespace plumb::session {
namespace {

struct VersionedStack {
  std::string name;
  std::string version;
};

/// Splits "3.11.2" into numbers, so that 3.9 comes before 3.11. What is no number counts as zero.
std::vector<std::uint64_t> parse_numbers(const std::string& version) {
  std::vector<std::uint64_t> numbers;
  std::istringstream parts(version);
  for (std::string part; std::getline(parts, part, '.');) {
    numbers.push_back(std::strtoull(part.c_str(), nullptr, 10));
  }
  return numbers;
}

std::string version_of(const std::string& stack, int threads) {
  const results::Environment environment =
      worker::WorkerProcess(worker_options(stack, threads)).describe();
  const auto version = environment.facts.find("library.version");
  return version != environment.facts.end() ? version->second : "";
}

/// Search for the first stack on which a layer is worse.
class Search {
 public:
  Search(const SessionContext& context, const BisectionOptions& options)
      : context_(context),
        options_(options),
        rule_(analysis::design_for(options.pairs)),
        key_(model::to_key(model::parse_key(model::LayerKey{options.key}))) {
    suite_.name = "bisect";
    suite_.caches = {results::CacheMode::kNone};
    suite_.layers = {{.key = key_, .count = 1, .file = ""}};
    bisection_.key = key_.text;
  }

  analysis::Bisection run() {
    const std::vector<VersionedStack> stacks = candidates();
    for (const VersionedStack& stack : stacks) {
      bisection_.stacks.push_back(stack.name);
    }
    std::size_t good = 0;
    std::size_t bad = stacks.size() - 1;
    analysis::ComparisonVerdict verdict = compare(stacks.front(), stacks[bad]);
    bisection_.last_good = stacks.front().name;
    if (verdict != analysis::ComparisonVerdict::kRegressed &&
        verdict != analysis::ComparisonVerdict::kBroken) {
      bisection_.reason = fmt::format("{} is {} to {}: there is nothing to search",
                                      options_.bad,
                                      to_text(verdict),
                                      options_.good);
      return std::move(bisection_);
    }
    while (bad - good > 1 && !context_.stop.load()) {
      const std::size_t middle = good + (bad - good) / 2;
      verdict = compare(stacks.front(), stacks[middle]);
      if (verdict == analysis::ComparisonVerdict::kInconclusive) {
        break;
      }
      const bool worse = verdict == analysis::ComparisonVerdict::kRegressed ||
                         verdict == analysis::ComparisonVerdict::kBroken;
      (worse ? bad : good) = middle;
    }
    bisection_.last_good = stacks[good].name;
    bisection_.first_bad = stacks[bad].name;
    bisection_.exact = bad - good == 1;
    bisection_.reason = bisection_.exact
                            ? fmt::format("first worse in {} ({}); {} ({}) is still good",
                                          stacks[bad].name,
                                          stacks[bad].version,
                                          stacks[good].name,
                                          stacks[good].version)
                            : fmt::format(
                                  "worse somewhere after {} ({}) and up to {} ({}): there is not "
                                  "enough evidence on the stacks between",
                                  stacks[good].name,
                                  stacks[good].version,
                                  stacks[bad].name,
                                  stacks[bad].version);
    return std::move(bisection_);
  }

 private:
  /// Lists the stacks from good to bad by version, both included. Those between are named by the
  /// user, or are all of the same backend.
  [[nodiscard]] std::vector<VersionedStack> candidates() const {
    const VersionedStack good{options_.good, version_of(options_.good, options_.threads)};
    const VersionedStack bad{options_.bad, version_of(options_.bad, options_.threads)};
    std::vector<std::string> names = options_.stacks;
    if (names.empty()) {
      const std::string backend = worker_options(options_.good, options_.threads).stack.backend;
      for (const analysis::StackReport& stack : stacks::list_stacks(data_folder() / "stacks")) {
        if (stack.backend == backend && stack.problems.empty()) {
          names.push_back(stack.name);
        }
      }
    }
    const auto older = [](const VersionedStack& one, const VersionedStack& other) {
      return parse_numbers(one.version) < parse_numbers(other.version);
    };
    std::vector<VersionedStack> between;
    for (const std::string& name : names) {
      const VersionedStack stack{name, version_of(name, options_.threads)};
      // Either may be the newer one: after a downgrade the question is the same.
      const bool inside =
          (older(good, stack) && older(stack, bad)) || (older(bad, stack) && older(stack, good));
      if (inside) {
        between.push_back(stack);
      }
    }
    std::stable_sort(between.begin(), between.end(), older);
    if (older(bad, good)) {
      std::reverse(between.begin(), between.end());
    }
    between.insert(between.begin(), good);
    between.push_back(bad);
    return between;
  }

  analysis::ComparisonVerdict compare(const VersionedStack& good, const VersionedStack& stack) {
    const std::vector<std::string> command{
        "plumb", "bisect", key_.text, "--good", options_.good, "--bad", options_.bad};
    const PairedRun baseline = paired_run(good.name, options_.threads, suite_, {}, command);
    const PairedRun candidate = paired_run(stack.name, options_.threads, suite_, {}, command);
    refuse_unlike(baseline, candidate);
    PairedSession session(context_.store, baseline, candidate);
    spdlog::info("{} ({}) against {} ({})", good.name, good.version, stack.name, stack.version);
    PairedOptions paired;
    paired.row_timeout = options_.row_timeout;
    PairedRounds pairs(
        context_.store, session.baseline(), session.candidate(), paired, context_.stop);
    analysis::RoundLimits limits;
    limits.control_drift = options_.drift;
    limits.layers.level = limits.models.level;  // one metric alone
    limits.floors = calibrated_floors(
        context_.store, baseline.header.environment, candidate.header.environment);
    ProgressStage stage(context_.progress);
    const SequentialRounds measured =
        measure_in_sequence(pairs, {{key_}, {}}, rule_, limits, {}, [&](const Progress& progress) {
          stage.show(progress);
        });
    const std::vector<std::string> faults = session.stack_faults();
    session.finish(context_.stop.load() || !faults.empty() ? results::RunState::kInterrupted
                                                           : results::RunState::kFinished);
    if (!faults.empty()) {
      throw Error(
          Error::Kind::kEnvironment,
          "a stack changed while it was measured, so nothing is searched: " + faults.front());
    }
    analysis::BisectionStep step;
    step.stack = stack.name;
    step.version = stack.version;
    step.baseline_run = baseline.header.id;
    step.run = candidate.header.id;
    if (measured.comparison.layers.empty()) {
      step.test.reason = "no round was valid: the controls drifted";
    } else {
      const analysis::QualifiedMetric& metric = measured.comparison.layers.front();
      step.test = metric.test;
      step.pairs = metric.baseline_seconds.size();
      step.baseline_variant = metric.baseline_variant;
      step.candidate_variant = metric.candidate_variant;
    }
    if (measured.comparison.drift.moved) {
      step.test.verdict = analysis::ComparisonVerdict::kInconclusive;
      step.test.reason = "the machine drifted";
    }
    bisection_.steps.push_back(std::move(step));
    return bisection_.steps.back().test.verdict;
  }

  const SessionContext& context_;
  const BisectionOptions& options_;
  analysis::SequentialRule rule_;
  model::LayerKey key_;
  suite::ResolvedSuite suite_;
  analysis::Bisection bisection_;
};

}  // namespace

analysis::Bisection search_stacks(const SessionContext& context, const BisectionOptions& options) {
  return Search(context, options).run();
}

}  // namespace plumb::session
