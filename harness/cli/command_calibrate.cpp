// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/model_source.hpp"
#include "harness/cli/paired_run.hpp"
#include "harness/cli/progress_line.hpp"
#include "harness/cli/qualification_session.hpp"
#include "harness/session/replicated_metrics.hpp"
#include "harness/session/run_lock.hpp"
#include "harness/session/run_record.hpp"
#include "harness/session/stack_watch.hpp"
#include "harness/session/stored_noise.hpp"
#include "harness/session/user_paths.hpp"
#include "reporting/content/comparison/noise_documents.hpp"

namespace plumb {
namespace {

struct CalibrateOptions {
  std::string suite;
  std::string stack = "default";
  std::string budget;
  std::string only;
  std::string row_timeout = "60s";
  std::size_t pairs = 20;
  int threads = 1;
  ResamplingPlan plan;
};

Seconds now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// Measurement of one stack against itself, from which its noise is read.
class SelfMeasurement {
 public:
  SelfMeasurement(CommandContext& context, const CalibrateOptions& options, Store& store)
      : context_(context),
        options_(options),
        store_(store),
        suite_(resolve_suite(read_suite(find_suite(options.suite)))),
        models_(prepare_models(suite_)) {}

  NoiseReport run() {
    const PairedRun first = begin();
    const PairedRun second = begin();
    spdlog::info("runs {} and {}", first.header.id, second.header.id);
    const bool whole = measure(first.side, second.side);
    for (const PairedRun* const run : {&first, &second}) {
      store_.finish_run(
          run->header.id, whole ? RunState::kFinished : RunState::kInterrupted, current_time());
    }
    if (const std::vector<std::string> faults = watch_.faults(); !faults.empty()) {
      throw Error(
          Error::Kind::kEnvironment,
          "the stack changed while it was measured, so nothing is calibrated: " + faults.front());
    }
    std::vector<SelfComparison> calibrations = stored_calibrations(store_, first.header);
    calibrations.push_back({store_.find_run(first.header.id), store_.find_run(second.header.id)});
    NoiseReport report{
        .suite = suite_.name,
        .stack = options_.stack,
        .environment = first.header.environment.id(),
        .first = first.header.id,
        .second = second.header.id,
        .calibrations = calibrations.size(),
        .noise = calibrate_noise(replicated_metrics(store_, calibrations), options_.plan)};
    std::ostringstream document;
    write_noise(report, OutputMode::kJson, document);
    put_run_record(store_, first.header.id, kNoiseRecord, suite_.name, document.str());
    return report;
  }

 private:
  PairedRun begin() {
    PairedRun run = paired_run(options_.stack,
                               options_.threads,
                               suite_,
                               models_,
                               {"plumb",
                                "calibrate",
                                options_.suite,
                                "--stack",
                                options_.stack,
                                "--pairs",
                                std::to_string(options_.pairs)});
    if (locks_.empty()) {
      watch_ = StackWatch(run.side.worker.stack);
    }
    run.side.before_worker_ends = [this](int pid) { watch_.look(pid); };
    locks_.push_back(RunLock::try_acquire(data_folder() / "locks", run.header.id));
    store_.begin_run(run.header);
    return run;
  }

  /// Measures the pairs, up to the end of the budget. Returns false if the user stopped it.
  bool measure(const PairedSide& first, const PairedSide& second) {
    PairedOptions limits;
    limits.row_timeout = parse_duration(options_.row_timeout);
    PairedRounds rounds(store_, first, second, limits, context_.stop);
    const PairedWork work = work_of(suite_, models_, options_.only != "layers");
    ProgressLine line;
    Progress progress;
    progress.unit = "pairs";
    progress.total = options_.pairs;
    const Seconds start = now();
    while (progress.done < options_.pairs) {
      static_cast<void>(rounds.measure(work, [&](const std::string& current) {
        progress.current = current;
        progress.elapsed = now() - start;
        line.show(progress);
      }));
      if (context_.stop.load()) {
        return false;
      }
      ++progress.done;
      progress.elapsed = now() - start;
      progress.left = progress.elapsed * (static_cast<double>(options_.pairs - progress.done) /
                                          static_cast<double>(progress.done));
      if (!options_.budget.empty() && progress.elapsed >= parse_duration(options_.budget)) {
        spdlog::warn("the budget ended after {} of {} pairs", progress.done, options_.pairs);
        return true;
      }
    }
    return true;
  }

  CommandContext& context_;
  const CalibrateOptions& options_;
  Store& store_;
  ResolvedSuite suite_;
  std::vector<PlannedModel> models_;
  StackWatch watch_;
  std::vector<std::optional<RunLock>> locks_;
};

}  // namespace

void add_calibrate(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* const command = app.add_subcommand(
      "calibrate", "measure a stack against itself: noise, false alarms, power, floors");
  command->add_option("SUITE", options->suite, "a path or an installed name")->required();
  command->add_option("--stack", options->stack, "library version to measure with")
      ->capture_default_str();
  command->add_option("--pairs", options->pairs, "pairs of restarted processes")
      ->check(CLI::Range(kMinCalibrationPairs, std::size_t{500}))
      ->capture_default_str();
  command->add_option("--budget", options->budget, "no pair begins after this time, such as 30m");
  command->add_option("--only", options->only, "layers: leave the models end to end out")
      ->check(CLI::IsMember({"layers"}));
  command->add_option("--comparisons", options->plan.comparisons, "pseudo comparisons drawn")
      ->check(CLI::Range(100, 100'000))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "threads of the workers")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--row-timeout", options->row_timeout, "how long a worker may be silent")
      ->capture_default_str();
  command->callback([&context, options] {
    const auto store = open_store(context.store_url);
    const NoiseReport report = SelfMeasurement(context, *options, *store).run();
    write_noise(report, context.json ? OutputMode::kJson : OutputMode::kText, std::cout);
  });
}

}  // namespace plumb
