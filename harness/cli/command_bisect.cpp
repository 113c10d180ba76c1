// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/paired_run.hpp"
#include "harness/cli/progress_line.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/session/sequential_rounds.hpp"
#include "harness/session/stored_noise.hpp"
#include "harness/session/user_paths.hpp"
#include "harness/session/worker_choice.hpp"
#include "harness/stacks/stack_probe.hpp"
#include "reporting/content/comparison/bisection.hpp"

namespace plumb {
namespace {

struct BisectOptions {
  std::string key;
  std::string good;
  std::string bad;
  std::vector<std::string> stacks;
  std::string row_timeout = "60s";
  std::size_t pairs = 20;
  double drift = 0.10;
  int threads = 1;
};

struct VersionedStack {
  std::string name;
  std::string version;
};

/// Splits "3.11.2" into numbers, so that 3.9 comes before 3.11. What is no number counts as zero.
std::vector<std::uint64_t> numbers_of(const std::string& version) {
  std::vector<std::uint64_t> numbers;
  std::istringstream parts(version);
  for (std::string part; std::getline(parts, part, '.');) {
    numbers.push_back(std::strtoull(part.c_str(), nullptr, 10));
  }
  return numbers;
}

std::string version_of(const std::string& stack, int threads) {
  const Environment environment = WorkerProcess(worker_options(stack, threads)).describe();
  const auto version = environment.facts.find("library.version");
  return version != environment.facts.end() ? version->second : "";
}

/// Search for the first stack on which a layer is worse.
class Search {
 public:
  Search(CommandContext& context, const BisectOptions& options, Store& store)
      : context_(context),
        options_(options),
        store_(store),
        rule_(design_for(options.pairs)),
        key_(to_key(parse_key(LayerKey{options.key}))) {
    suite_.name = "bisect";
    suite_.caches = {CacheMode::kNone};
    suite_.layers = {{.key = key_, .count = 1, .file = ""}};
    bisection_.key = key_.text;
  }

  Bisection run() {
    const std::vector<VersionedStack> stacks = candidates();
    for (const VersionedStack& stack : stacks) {
      bisection_.stacks.push_back(stack.name);
    }
    std::size_t good = 0;
    std::size_t bad = stacks.size() - 1;
    ComparisonVerdict verdict = compare(stacks.front(), stacks[bad]);
    bisection_.last_good = stacks.front().name;
    if (verdict != ComparisonVerdict::kRegressed && verdict != ComparisonVerdict::kBroken) {
      bisection_.reason = fmt::format("{} is {} to {}: there is nothing to search",
                                      options_.bad,
                                      to_text(verdict),
                                      options_.good);
      return std::move(bisection_);
    }
    while (bad - good > 1 && !context_.stop.load()) {
      const std::size_t middle = good + (bad - good) / 2;
      verdict = compare(stacks.front(), stacks[middle]);
      if (verdict == ComparisonVerdict::kInconclusive) {
        break;
      }
      const bool worse =
          verdict == ComparisonVerdict::kRegressed || verdict == ComparisonVerdict::kBroken;
      (worse ? bad : good) = middle;
    }
    bisection_.last_good = stacks[good].name;
    bisection_.first_bad = stacks[bad].name;
    bisection_.exact = bad - good == 1;
    bisection_.reason =
        bisection_.exact
            ? fmt::format("first worse in {} ({}); {} ({}) is still good",
                          stacks[bad].name,
                          stacks[bad].version,
                          stacks[good].name,
                          stacks[good].version)
            : fmt::format(
                  "worse somewhere after {} ({}) and up to {} ({}): the evidence on what "
                  "lies between is not enough",
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
      for (const StackReport& stack : list_stacks(data_folder() / "stacks")) {
        if (stack.backend == backend && stack.problems.empty()) {
          names.push_back(stack.name);
        }
      }
    }
    const auto older = [](const VersionedStack& one, const VersionedStack& other) {
      return numbers_of(one.version) < numbers_of(other.version);
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

  ComparisonVerdict compare(const VersionedStack& good, const VersionedStack& stack) {
    const std::vector<std::string> command{
        "plumb", "bisect", key_.text, "--good", options_.good, "--bad", options_.bad};
    const PairedRun baseline = paired_run(good.name, options_.threads, suite_, {}, command);
    const PairedRun candidate = paired_run(stack.name, options_.threads, suite_, {}, command);
    refuse_unlike(baseline, candidate);
    store_.begin_run(baseline.header);
    store_.begin_run(candidate.header);
    spdlog::info("{} ({}) against {} ({})", good.name, good.version, stack.name, stack.version);
    PairedOptions paired;
    paired.row_timeout = parse_duration(options_.row_timeout);
    PairedRounds pairs(store_, baseline.side, candidate.side, paired, context_.stop);
    RoundLimits limits;
    limits.control_drift = options_.drift;
    limits.layers.level = limits.models.level;  // one metric alone
    limits.floors =
        calibrated_floors(store_, baseline.header.environment, candidate.header.environment);
    ProgressLine line;
    const SequentialRounds measured =
        measure_in_sequence(pairs, {{key_}, {}}, rule_, limits, {}, [&](const Progress& progress) {
          line.show(progress);
        });
    for (const PairedRun* each : {&baseline, &candidate}) {
      store_.finish_run(each->header.id,
                        context_.stop.load() ? RunState::kInterrupted : RunState::kFinished,
                        current_time());
    }
    BisectionStep step;
    step.stack = stack.name;
    step.version = stack.version;
    step.baseline_run = baseline.header.id;
    step.run = candidate.header.id;
    if (measured.comparison.layers.empty()) {
      step.test.reason = "no round was valid: the controls moved";
    } else {
      const QualifiedMetric& metric = measured.comparison.layers.front();
      step.test = metric.test;
      step.pairs = metric.baseline_seconds.size();
      step.baseline_variant = metric.baseline_variant;
      step.candidate_variant = metric.candidate_variant;
    }
    if (measured.comparison.drift.moved) {
      step.test.verdict = ComparisonVerdict::kInconclusive;
      step.test.reason = "the machine moved";
    }
    bisection_.steps.push_back(std::move(step));
    return bisection_.steps.back().test.verdict;
  }

  CommandContext& context_;
  const BisectOptions& options_;
  Store& store_;
  SequentialRule rule_;
  LayerKey key_;
  ResolvedSuite suite_;
  Bisection bisection_;
};

void bisect(CommandContext& context, const BisectOptions& options) {
  const auto store = open_store(context.store_url);
  const Bisection bisection = Search(context, options, *store).run();
  write_bisection(bisection, context.json ? OutputMode::kJson : OutputMode::kText, std::cout);
  const bool open =
      std::any_of(bisection.steps.begin(), bisection.steps.end(), [](const BisectionStep& step) {
        return step.test.verdict == ComparisonVerdict::kInconclusive;
      });
  if (open && !bisection.exact) {
    context.exit_status = static_cast<int>(Error::Kind::kTryAgain);
  }
}

}  // namespace

void add_bisect(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<BisectOptions>();
  CLI::App* const command = app.add_subcommand(
      "bisect", "find the first of several stacks on which a layer is slower, or broken");
  command->add_option("KEY", options->key, "a layer key, quoted: 'v1:conv;in=…'")->required();
  command->add_option("--good", options->good, "a stack on which it is as it should be")
      ->required();
  command->add_option("--bad", options->bad, "a stack on which it is worse")->required();
  command->add_option("--stack",
                      options->stacks,
                      "a stack that may lie between; may be repeated; default: all of the backend");
  command->add_option("--pairs", options->pairs, "pairs of restarted processes a stack, at most")
      ->check(CLI::Range(kMinDesign, std::size_t{200}))
      ->capture_default_str();
  command
      ->add_option("--control-drift",
                   options->drift,
                   "what a control may differ by within a pair, for the pair to count")
      ->check(CLI::Range(1e-6, 1000.0))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "threads of the workers")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--row-timeout", options->row_timeout, "how long a worker may be silent")
      ->capture_default_str();
  command->callback([&context, options] { bisect(context, *options); });
}

}  // namespace plumb
