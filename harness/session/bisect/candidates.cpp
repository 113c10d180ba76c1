// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <utility>

#include "harness/analysis/library/stack_difference.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/session/bisect/bisection_session.hpp"
#include "harness/session/host/host.hpp"
#include "harness/stacks/stack_probe.hpp"

namespace plumb::session {
namespace {

/// Splits "3.11.2" into numbers, so that 3.9 comes before 3.11. What is no number counts as zero.
std::vector<std::uint64_t> parse_numbers(const std::string& version) {
  std::vector<std::uint64_t> numbers;
  std::istringstream parts(version);
  for (std::string part; std::getline(parts, part, '.');) {
    numbers.push_back(std::strtoull(part.c_str(), nullptr, 10));
  }
  return numbers;
}

struct VersionedStack {
  analysis::Bisection::Candidate candidate;  ///< with the version
  std::vector<std::uint64_t> numbers;        ///< of the version
  std::string environment;                   ///< its id
};

VersionedStack read_stack(const std::string& stack, int threads, const std::string& device) {
  const results::Environment environment =
      worker::WorkerProcess(worker_options({stack, threads, device})).describe();
  const std::string version = results::fact_of(environment.facts, "library.version");
  return {{stack, version}, parse_numbers(version), environment.id()};
}

std::vector<std::string> stacks_of_backend(const std::string& like, int threads) {
  const std::string backend = worker_options({like, threads}).stack.backend;
  std::vector<std::string> names;
  for (const analysis::StackReport& stack : stacks::list_stacks(data_folder() / "stacks")) {
    if (stack.backend == backend && stack.problems.empty()) {
      names.push_back(stack.name);
    }
  }
  return names;
}

/// Stacks between a good one and a bad one, in the order of their libraries' versions.
class StackCandidates final : public CandidateSource {
 public:
  StackCandidates(const std::string& good,
                  const std::string& bad,
                  std::vector<std::string> between,
                  int threads,
                  const std::string& device);

  [[nodiscard]] analysis::Bisection::Unit unit() const override {
    return analysis::Bisection::Unit::kStack;
  }
  [[nodiscard]] const std::vector<analysis::Bisection::Candidate>& line() const override {
    return line_;
  }
  [[nodiscard]] std::string identity() const override { return identity_; }
  [[nodiscard]] Ready prepare(std::size_t candidate,
                              const std::function<void(const std::string&)>& report) override;

 private:
  std::vector<analysis::Bisection::Candidate> line_;
  std::string identity_;  ///< the environments of all stacks
};

StackCandidates::StackCandidates(const std::string& good,
                                 const std::string& bad,
                                 std::vector<std::string> between,
                                 int threads,
                                 const std::string& device) {
  const VersionedStack first = read_stack(good, threads, device);
  const VersionedStack last = read_stack(bad, threads, device);
  if (between.empty()) {
    between = stacks_of_backend(good, threads);
  }
  const auto older = [](const VersionedStack& one, const VersionedStack& other) {
    return one.numbers < other.numbers;
  };
  std::vector<VersionedStack> line;
  for (const std::string& name : between) {
    VersionedStack stack = read_stack(name, threads, device);
    // Either may be the newer one: after a downgrade the question is the same.
    if ((older(first, stack) && older(stack, last)) ||
        (older(last, stack) && older(stack, first))) {
      line.push_back(std::move(stack));
    }
  }
  std::stable_sort(line.begin(), line.end(), older);
  if (older(last, first)) {
    std::reverse(line.begin(), line.end());
  }
  line.insert(line.begin(), first);
  line.push_back(last);
  for (VersionedStack& stack : line) {
    line_.push_back(std::move(stack.candidate));
    identity_ += stack.environment + "\n";
  }
}

CandidateSource::Ready StackCandidates::prepare(
    std::size_t candidate, const std::function<void(const std::string&)>& /*report*/) {
  return {.stack = line_[candidate].name};
}

/// Throws Error{kUser} unless a path stays in the folder that it is relative to.
void refuse_outside(const std::filesystem::path& folder) {
  const std::filesystem::path normal = folder.lexically_normal();
  if (normal.is_absolute() || normal.empty() || *normal.begin() == "..") {
    throw Error(Error::Kind::kUser,
                fmt::format("'--stack-folder {}' must lie in the worktree: give a path relative to "
                            "its root, such as build",
                            folder.string()));
  }
}

/// Returns why a worker does not start with a stack. Empty: it does.
std::string start_problem(const std::string& stack) {
  try {
    static_cast<void>(worker::WorkerProcess(worker_options({stack})).describe());
    return {};
  } catch (const worker::WorkerDied& death) {
    return "its worker does not start: " + death.outcome().reason;
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kInternal) {
      throw;
    }
    return fmt::format("the build leaves no stack: {}", error.what());
  }
}

/// Commits of a git repository along first parents, each built in a worktree of its own.
class CommitCandidates final : public CandidateSource {
 public:
  CommitCandidates(Commits options, const std::atomic<bool>& stop);

  [[nodiscard]] analysis::Bisection::Unit unit() const override {
    return analysis::Bisection::Unit::kCommit;
  }
  [[nodiscard]] const std::vector<analysis::Bisection::Candidate>& line() const override {
    return line_;
  }
  [[nodiscard]] std::string identity() const override;
  /// Builds a commit, or finds its build.
  [[nodiscard]] Ready prepare(std::size_t candidate,
                              const std::function<void(const std::string&)>& report) override;

 private:
  Commits options_;
  stacks::BuildCache::Repository repository_;
  stacks::BuildCache cache_;
  std::vector<analysis::Bisection::Candidate> line_;
  std::map<std::size_t, stacks::BuildCache::Build> held_;  ///< builds that the cache must keep
};

CommitCandidates::CommitCandidates(Commits options, const std::atomic<bool>& stop)
    : options_(std::move(options)),
      repository_(options_.repository, stop),
      cache_(cache_folder() / "builds", options_.keep_builds, stop) {
  refuse_outside(options_.recipe.stack_folder);
  for (stacks::BuildCache::Repository::Commit& commit :
       repository_.first_parent_line(options_.good, options_.bad)) {
    line_.push_back({std::move(commit.hash), std::move(commit.subject)});
  }
}

std::string CommitCandidates::identity() const {
  return json_text({options_.recipe.command, path_text(options_.recipe.stack_folder)});
}

CandidateSource::Ready CommitCandidates::prepare(
    std::size_t candidate, const std::function<void(const std::string&)>& report) {
  const std::string& commit = line_[candidate].name;
  if (const auto held = held_.find(candidate); held != held_.end()) {
    std::error_code error;
    if (std::filesystem::is_directory(held->second.stack_folder, error)) {
      return {.stack = held->second.stack_folder.string(), .labels = {{"commit", commit}}};
    }
    held_.erase(held);  // somebody has deleted it: its lock must not keep this from building it
  }
  stacks::BuildCache::Build build =
      cache_.find_or_build(repository_, commit, options_.recipe, [&](Seconds elapsed) {
        report(fmt::format("building {} for {:.0f} s", commit.substr(0, 12), elapsed.count()));
      });
  CandidateSource::Ready ready{.stack = build.stack_folder.string(),
                               .labels = {{"commit", commit}}};
  ready.problem = build.problem;
  ready.tail = build.tail;
  ready.log = build.log.string();
  ready.built = !build.reused && !build.stopped;
  ready.stopped = build.stopped;
  if (build.problem.empty()) {
    ready.tail.clear();
    ready.problem = start_problem(ready.stack);
    held_.insert_or_assign(candidate, std::move(build));
  }
  return ready;
}

using analysis::ComparisonVerdict;
using analysis::RoundComparison;

bool is_worse(const analysis::RoundComparison::Metric& metric) {
  return metric.test.verdict == ComparisonVerdict::kBroken ||
         metric.test.verdict == ComparisonVerdict::kRegressed;
}

/// Returns whether one metric is more worth searching for: a broken one, or the larger slow-down.
bool is_milder(const analysis::RoundComparison::Metric* one,
               const analysis::RoundComparison::Metric* other) {
  const auto weight = [](const analysis::RoundComparison::Metric& metric) {
    return std::pair(metric.test.verdict == ComparisonVerdict::kBroken,
                     metric.test.ratio.value_or(0.0));
  };
  return weight(*one) < weight(*other);
}

std::vector<const analysis::RoundComparison::Metric*> all_of(const RoundComparison& comparison) {
  std::vector<const analysis::RoundComparison::Metric*> metrics;
  for (const auto* const family : {&comparison.models, &comparison.layers}) {
    for (const analysis::RoundComparison::Metric& metric : *family) {
      metrics.push_back(&metric);
    }
  }
  return metrics;
}

const analysis::RoundComparison::Metric* find_metric(const RoundComparison& comparison,
                                                     const analysis::Bisection::Subject& subject) {
  const std::vector<const analysis::RoundComparison::Metric*> metrics = all_of(comparison);
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto* metric) {
    return metric->subject == subject.name && metric->mode == subject.mode;
  });
  return found == metrics.end() ? nullptr : *found;
}

/// Returns what is broken, or else slows down most. Null: nothing is worse.
const analysis::RoundComparison::Metric* find_worst(const RoundComparison& comparison) {
  std::vector<const analysis::RoundComparison::Metric*> metrics = all_of(comparison);
  std::erase_if(metrics,
                [](const analysis::RoundComparison::Metric* metric) { return !is_worse(*metric); });
  const auto worst = std::max_element(metrics.begin(), metrics.end(), is_milder);
  return worst == metrics.end() ? nullptr : *worst;
}

analysis::PairedSamples pairs_of(const analysis::RoundComparison::Metric& metric) {
  return {"", metric.baseline_seconds, metric.candidate_seconds};
}

/// Measures one metric in more rounds.
void open_again(const analysis::Bisection::Subject& subject, RoundComparison& comparison) {
  if (subject.mode.empty()) {
    comparison.open_layers.insert({subject.name});
  } else {
    comparison.open_models.insert({subject.name, subject.mode});
  }
}

void copy_metric(const analysis::RoundComparison::Metric& metric, analysis::Bisection::Step& step) {
  step.subject = {metric.subject, metric.mode};
  step.test = metric.test;
  step.pairs = metric.baseline_seconds.size();
  step.baseline_variant = metric.baseline_variant;
  step.candidate_variant = metric.candidate_variant;
}

/// Returns whether nothing is known of a step, and notes why where the numbers do not show it.
bool note_obstacle(const RoundComparison& comparison, analysis::Bisection::Step& step) {
  if (comparison.valid == 0) {
    step.test.reason = "no round was valid: the controls drifted";
  } else if (comparison.drift.moved) {
    step.test.reason = "the machine drifted";
  } else {
    return false;
  }
  step.test.verdict = ComparisonVerdict::kInconclusive;
  step.state = analysis::Bisection::Search::State::kUnknown;
  return true;
}

}  // namespace

std::unique_ptr<CandidateSource> stack_candidates(const std::string& good,
                                                  const std::string& bad,
                                                  std::vector<std::string> between,
                                                  int threads,
                                                  const std::string& device) {
  return std::make_unique<StackCandidates>(good, bad, std::move(between), threads, device);
}

std::unique_ptr<CandidateSource> commit_candidates(CandidateSource::Commits commits,
                                                   const std::atomic<bool>& stop) {
  return std::make_unique<CommitCandidates>(std::move(commits), stop);
}

BisectionQuestion::Judge::Judge(std::size_t pairs, analysis::RoundComparison::Limits limits)
    : pairs_(pairs),
      limits_(std::move(limits)),
      rule_(analysis::search_design(pairs)),
      sides_(rule_.looks()) {}

PairedRounds::Sequence::Judge BisectionQuestion::Judge::of_ends() const {
  return {rule_.looks(), [this](std::span<const results::PairedRound> rounds) {
            RoundComparison comparison = analysis::compare_rounds(rounds, rule_, limits_);
            const analysis::RoundComparison::Metric* const worst = find_worst(comparison);
            if (worst == nullptr) {
              return comparison;
            }
            if (comparison.valid >= pairs_) {
              comparison.open_layers.clear();
              comparison.open_models.clear();
            }
            analysis::MetricComparison ignored;
            if (worst->test.verdict == ComparisonVerdict::kRegressed &&
                !analysis::estimate_change(pairs_of(*worst), ignored)) {
              open_again({worst->subject, worst->mode}, comparison);
            }
            return comparison;
          }};
}

PairedRounds::Sequence::Judge BisectionQuestion::Judge::of_candidate(
    const BisectionQuestion::Judge::Change& change) const {
  return {rule_.looks(), [this, change](std::span<const results::PairedRound> rounds) {
            RoundComparison comparison = analysis::compare_rounds(rounds, rule_, limits_);
            comparison.open_layers.clear();
            comparison.open_models.clear();
            const analysis::RoundComparison::Metric* const metric =
                find_metric(comparison, change.subject);
            if (metric != nullptr &&
                state_of(*metric, change, comparison.valid) ==
                    analysis::Bisection::Search::State::kUnknown &&
                metric->test.verdict != ComparisonVerdict::kBroken) {
              open_again(change.subject, comparison);
            }
            return comparison;
          }};
}

PairedRounds::Sequence::Judge BisectionQuestion::Judge::of_confirmation() const {
  return {rule_.looks(), [this](std::span<const results::PairedRound> rounds) {
            return analysis::compare_rounds(rounds, rule_, limits_);
          }};
}

analysis::Bisection::Search::State BisectionQuestion::Judge::state_of(
    const analysis::RoundComparison::Metric& metric,
    const BisectionQuestion::Judge::Change& change,
    std::size_t valid) const {
  if (metric.test.verdict == ComparisonVerdict::kBroken) {
    return change.broken ? analysis::Bisection::Search::State::kBad
                         : analysis::Bisection::Search::State::kUnknown;
  }
  if (change.broken) {  // it works, unless a process failed once
    return metric.baseline_seconds.size() == valid && valid >= rule_.looks().front()
               ? analysis::Bisection::Search::State::kGood
               : analysis::Bisection::Search::State::kUnknown;
  }
  switch (sides_.judge(pairs_of(metric), change.ratio)) {
    case analysis::Bisection::SideRule::Side::kBefore:
      return analysis::Bisection::Search::State::kGood;
    case analysis::Bisection::SideRule::Side::kAfter:
      return analysis::Bisection::Search::State::kBad;
    case analysis::Bisection::SideRule::Side::kOpen:
      break;
  }
  return analysis::Bisection::Search::State::kUnknown;
}

void BisectionQuestion::Judge::conclude_ends(const RoundComparison& comparison,
                                             analysis::Bisection::Step& step) const {
  const std::vector<const analysis::RoundComparison::Metric*> metrics = all_of(comparison);
  if (!metrics.empty()) {
    copy_metric(**std::max_element(metrics.begin(), metrics.end(), is_milder), step);
  }
  if (note_obstacle(comparison, step)) {
    return;
  }
  const auto open = [](const analysis::RoundComparison::Metric* metric) {
    return metric->test.verdict == ComparisonVerdict::kInconclusive;
  };
  step.state = std::any_of(metrics.begin(), metrics.end(), open) || metrics.empty()
                   ? analysis::Bisection::Search::State::kUnknown
                   : analysis::Bisection::Search::State::kGood;
  if (const analysis::RoundComparison::Metric* const worst = find_worst(comparison)) {
    copy_metric(*worst, step);
    step.state = analysis::Bisection::Search::State::kBad;
    if (step.test.verdict == ComparisonVerdict::kRegressed) {
      static_cast<void>(analysis::estimate_change(pairs_of(*worst), step.test));
    }
  }
}

void BisectionQuestion::Judge::conclude(const RoundComparison& comparison,
                                        const BisectionQuestion::Judge::Change& change,
                                        analysis::Bisection::Step& step) const {
  step.subject = change.subject;
  const analysis::RoundComparison::Metric* const metric = find_metric(comparison, change.subject);
  if (metric != nullptr) {
    copy_metric(*metric, step);
  }
  if (note_obstacle(comparison, step) || metric == nullptr) {
    return;
  }
  if (step.task.purpose == analysis::Bisection::Search::Task::Purpose::kSearch) {
    step.state = state_of(*metric, change, comparison.valid);
  } else if (is_worse(*metric)) {
    step.state = analysis::Bisection::Search::State::kBad;
  } else {
    step.state = metric->test.verdict == ComparisonVerdict::kInconclusive
                     ? analysis::Bisection::Search::State::kUnknown
                     : analysis::Bisection::Search::State::kGood;
  }
}

}  // namespace plumb::session
