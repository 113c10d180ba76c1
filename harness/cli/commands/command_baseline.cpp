// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <vector>

#include "harness/analysis/compare/run_times.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/session/stored/baseline_record.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::cli {
namespace {

struct BaselineSetOptions {
  std::string run;       ///< or, with `runs`, the suite to measure
  SuiteChoice choice;    ///< with `runs`: the models to measure
  std::size_t runs = 0;  ///< to measure; 0: accept one that there is
  session::WorkerChoice worker;
  std::string name;
  std::string who;
  std::string reason;
  bool partial = false;  ///< an interrupted run will do
};

/// Measures a suite several times and returns the run in the middle (middle_run()). From each run
/// the store learns how much runs of unchanged code differ. Throws Error{kTryAgain} if one of them
/// is not finished.
results::RunRecord measure_runs(CommandContext& context,
                                const BaselineSetOptions& options,
                                store::Store& store) {
  RunOptions run;
  run.choice = options.choice;
  run.choice.suite = options.run;
  run.reuse = "never";
  run.suite_run.worker = options.worker;
  export_models(run.choice, {options.worker.stack}, context.stop);
  suite::ResolvedSuite suite = requested_suite(context.models, run);
  const std::vector<session::PlannedModel> models = session::prepare_models(context.models, suite);
  std::vector<results::RunId> ids;
  std::vector<analysis::RunTimes> times;
  for (std::size_t i = 1; i <= options.runs && !context.stop.load(); ++i) {
    spdlog::info("run {} of {}", i, options.runs);
    const results::RunId id =
        session::run_suite(
            context.session(store), suite_run_options(run, options.worker.stack), suite, models)
            .run;
    const analysis::RunReport report =
        session::analyze_run({store, context.models}, store.find_run(id), {});
    session::store_analysis(store, report);
    if (report.run.state != results::RunState::kFinished) {
      break;
    }
    ids.push_back(id);
    times.push_back(
        analysis::run_times_from_json(store.derived(id, analysis::kRunTimesRecord).back().payload));
  }
  if (ids.size() < options.runs) {
    throw Error(
        Error::Kind::kTryAgain,
        fmt::format(
            "{} of {} runs were finished, so no baseline is set; the store keeps these runs",
            ids.size(),
            options.runs));
  }
  return store.find_run(ids[analysis::middle_run(times)]);
}

void set_baseline(CommandContext& context, const BaselineSetOptions& options) {
  if (options.runs == 0 && options.run.empty()) {
    throw Error(Error::Kind::kUser,
                "name the run to accept: RUN, or --runs with a suite or --model to measure");
  }
  const auto store = store::open_store(context.store_url());
  const results::RunRecord run =
      options.runs == 0 ? store->find_run(options.run) : measure_runs(context, options, *store);
  const std::string name = options.name.empty() ? "baseline/" + run.header.suite : options.name;
  session::accept_baseline(*store,
                           run,
                           name,
                           options.who.empty() ? session::user_name() : options.who,
                           options.reason,
                           options.partial);
  terminal::say(fmt::format("{} is now run {}", name, run.header.id));
}

}  // namespace

void add_baseline(CLI::App& app, CommandContext& context) {
  CLI::App* const baseline =
      app.add_subcommand("baseline", "accept and list the runs that later runs are compared with");
  baseline->require_subcommand(1);

  const auto options = std::make_shared<BaselineSetOptions>();
  CLI::App* const set = baseline->add_subcommand(
      "set", "accept a run as the baseline; the store keeps who accepted it, when and why");
  set->add_option("RUN",
                  options->run,
                  "a finished run: id, unique prefix, tag or @latest; with --runs a suite, which "
                  "may be left out with --model");
  CLI::Option* const runs = set->add_option("--runs",
                                            options->runs,
                                            "measure the suite this many times and accept the run "
                                            "in the middle; the others show the noise between runs")
                                ->check(CLI::Range(1, 100));
  add_model_choice(*set, options->choice);
  set->get_option("--model")->needs(runs);
  add_stack_option(*set, options->worker.stack)->needs(runs);
  add_worker_options(*set, options->worker);
  set->get_option("--threads")->needs(runs);
  set->get_option("--device")->needs(runs);
  set->add_option("--name",
                  options->name,
                  "its tag; default: baseline/SUITE, which `plumb serve` compares runs with");
  set->add_flag("--partial",
                options->partial,
                "accept a run that ended early, by its budget or an interruption; what it lacks is "
                "not compared")
      ->excludes(runs);
  set->add_option("--reason", options->reason, "why it is accepted");
  set->add_option("--who", options->who, "who accepts it; default: the user's name");
  set->callback([&context, options] { set_baseline(context, *options); });

  CLI::App* const list =
      baseline->add_subcommand("list", "present and earlier baselines, newest first");
  list->callback([&context] {
    reporting::write_baselines(session::baselines_in(*store::open_store(context.store_url())),
                               context.output_mode(),
                               std::cout);
  });
}

}  // namespace plumb::cli
