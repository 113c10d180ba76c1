// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "harness/analysis/alternation/shape_latencies.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/baseline_check.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/results/execution.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/run/scenario_runs.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/work_items.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/execution_documents.hpp"

namespace plumb::cli {
namespace {

/// Warns of each model that has no end-to-end time in a run.
void warn_of_missing(const analysis::RunReport& report) {
  for (const analysis::RunReport::Model& model : report.models) {
    const std::vector<analysis::ExecutionTime>& executions = model.bounds.executions;
    const bool timed = std::any_of(
        executions.begin(), executions.end(), [](const auto& each) { return each.samples > 0; });
    if (!timed && model.bounds.instance.dtype != rewrite::kInt8 &&
        report.run.header.shard.empty()) {
      spdlog::warn("{} has no end-to-end time in this run; --resume measures it",
                   to_text(model.bounds.instance, ", "));
    }
  }
}

/// Prints what a selection of layers leaves. Throws Error{kUser} if that is nothing.
void check_selection(const suite::ResolvedSuite& suite,
                     std::span<const session::PlannedModel> models) {
  if (!suite.selection.empty()) {
    const session::WorkSource::Counts count = session::selected_layers(models, suite);
    spdlog::info("{} of {} unique layers are selected; no model is executed end to end",
                 count.selected,
                 count.all);
  }
}

/// Builds the stack that the options ask for. Returns false if the user stopped it.
bool build(CommandContext& context, RunOptions& options) {
  if (options.build.command.empty()) {
    return true;
  }
  const std::optional<session::SuiteRun::Options::BuiltStack> built =
      session::build_stack(options.build, context.stop, context.progress);
  if (built) {
    options.stacks = {built->stack};
    options.built = built->labels;
  }
  return built.has_value();
}

/// Returns how a process takes part in a shared run. Throws Error{kUser}.
session::SuiteRun::Options::Sharing sharing_of(const CommandContext& context,
                                               const RunOptions& options) {
  session::SuiteRun::Options::Sharing sharing;
  if (options.join.empty()) {
    return sharing;
  }
  if (options.stacks.size() > 1) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("'--join {}' takes one --stack, not {}: each stack has a run of its own",
                    options.join,
                    options.stacks.size()));
  }
  if (!options.baseline.baseline.empty()) {
    throw Error(Error::Kind::kUser,
                "--join and --baseline exclude each other: compare the run when it is finished");
  }
  sharing.name = options.join;
  sharing.store_url = context.store_url();
  sharing.lease =
      std::chrono::duration_cast<std::chrono::milliseconds>(suite::parse_duration(options.lease));
  if (sharing.lease < std::chrono::seconds(1) || sharing.lease > std::chrono::minutes(1)) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--lease {}' is not between 1s and 60s", options.lease));
  }
  return sharing;
}

void measure(CommandContext& context, RunOptions options) {
  export_models(options.choice, options.stacks, context.stop);
  suite::ResolvedSuite suite = requested_suite(context.models, options);
  if (const std::string& shard = options.suite_run.shard; !shard.empty()) {
    static_cast<void>(session::parse_shard(shard));
  }
  if (!options.is_of_layers()) {
    session::check_loads(suite);
  }
  const std::size_t wanted = suite.models.size();
  const std::vector<session::PlannedModel> models = session::prepare_models(context.models, suite);
  check_selection(suite, models);
  if (!build(context, options)) {
    return;
  }
  const session::SuiteRun::Options::Sharing sharing = sharing_of(context, options);
  const auto store = store::open_store(context.store_url(), CommandContext::for_runs());
  if (options.stacks.empty()) {
    options.stacks = {"default"};
  }
  options.baseline.commits = context.commits();
  const BaselineCheck baseline(options.baseline, *store, options.stacks.size());
  if (const std::optional<results::RunId>& base = baseline.baseline()) {
    for (const std::string& stack : options.stacks) {
      session::refuse_unlike(store->find_run(*base),
                             options.baseline.varied,
                             suite_run_options(options, stack),
                             suite,
                             models);
    }
  }
  std::vector<analysis::RunReport> reports;
  bool cut = false;
  for (const std::string& stack : options.stacks) {
    session::SuiteRun::Options run = suite_run_options(options, stack);
    run.confirmation = baseline.confirmation();
    run.join = sharing;
    const session::SuiteRun outcome =
        session::run_suite(context.session(*store), run, suite, models);
    if (!outcome.stack_faults.empty() || !outcome.device_fault.empty()) {
      context.exit_status = static_cast<int>(Error::Kind::kEnvironment);
    }
    cut = cut || (outcome.budget_ended && outcome.state == results::RunState::kInterrupted);
    reports.push_back(
        session::analyze_run({*store, context.models}, store->find_run(outcome.run), {}));
    // Of a shared run, one process stores the analysis: the one that saw its end.
    if (sharing.name.empty() || (outcome.measured_last && store->waiting_rows() == 0)) {
      session::store_analysis(*store, reports.back());
    }
    if (context.exit_status == 0 && !options.is_of_layers() && !context.stop.load()) {
      context.exit_status = compute_exit_status(session::read_loads(*store, outcome.run));
    }
    if (!context.json) {
      reporting::write_bounds(reports.back(), reporting::OutputMode::kText, std::cout);
    }
    if (!options.is_of_layers() && options.loads.scenarios.empty()) {
      warn_of_missing(reports.back());
    }
    if (context.stop.load()) {
      break;
    }
  }
  compare_with_baseline(context, baseline, *store, reports);
  if (store->waiting_rows() > 0 && context.exit_status == 0) {
    context.exit_status = static_cast<int>(Error::Kind::kTryAgain);
  }
  if (cut) {
    spdlog::warn("the budget ended the run before everything was measured: --resume continues it");
    if (context.exit_status == 0) {
      context.exit_status = static_cast<int>(Error::Kind::kTryAgain);
    }
  }
  if (context.exit_status == 0 && models.size() < wanted) {
    spdlog::error("{} of {} models could not be read: see the messages above",
                  wanted - models.size(),
                  wanted);
    context.exit_status = static_cast<int>(Error::Kind::kUser);
  }
}

/// Adds the options by which a command builds the stack first.
void add_build_options(CLI::App& run, CLI::Option& stack, stacks::BuildCache::Recipe& recipe) {
  CLI::Option* const build =
      run.add_option("--build",
                     recipe.command,
                     "command that builds what is measured, such as 'make -C ../ort'; sh runs it "
                     "here, and the commit of --stack-folder is the label 'commit'")
          ->excludes(&stack);
  CLI::Option* const folder =
      run.add_option("--stack-folder",
                     recipe.stack_folder,
                     "the folder that it builds: with a stack.toml, or with the library")
          ->needs(build);
  build->needs(folder);
  add_duration_option(
      run, "--build-timeout", recipe.time_limit, "2h", "how long the build may take")
      ->needs(build);
}

/// Adds the options by which several processes share a run.
void add_join_options(CLI::App& run, CLI::Option& shard, CLI::Option& resume, RunOptions& options) {
  CLI::Option* const join =
      run.add_option("--join",
                     options.join,
                     "share the work of the run of this name, id or tag with other processes, on a "
                     "PostgreSQL store; where there is none, begin it")
          ->excludes(&shard)
          ->excludes(&resume);
  run.add_option("--lease",
                 options.lease,
                 "how long this process may be silent before others take over its work, 1s to 60s")
      ->needs(join)
      ->capture_default_str();
}

}  // namespace

void add_run(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<RunOptions>();
  session::SuiteRun::Options& suite_run = options->suite_run;
  CLI::App* const run =
      app.add_subcommand("run", "measure a suite, bound its models, store everything");
  add_suite_choice(*run, options->choice);
  CLI::Option* const stack =
      run->add_option("--stack",
                      options->stacks,
                      "library versions to run with: a stack's name, or with a '/' the path of its "
                      "folder; may be repeated; default: 'default'");
  add_build_options(*run, *stack, options->build);
  run->add_option("--reuse",
                  options->reuse,
                  "when to reuse earlier rows instead of measuring: never, always or max_age:7d");
  run->add_option(
      "--budget", options->budget, "time to spend, such as 10m: the heaviest layers come first");
  CLI::Option* const resume =
      run->add_flag("--resume",
                    suite_run.resume,
                    "continue the newest unfinished run of this suite, if there is one");
  add_label_option(*run, options->labels);
  CLI::Option* const shard =
      run->add_option("--shard", suite_run.shard, "I/N: this machine's part of the layers");
  add_join_options(*run, *shard, *resume, *options);
  run->add_option("--layer",
                  options->layers,
                  "only layers whose name, operator or key matches, such as 'Conv*', and no models "
                  "end to end; may be repeated")
      ->allow_extra_args(false);
  run->add_option("--exclude",
                  options->excluded,
                  "no layers whose name, operator or key matches; as --layer; may be repeated")
      ->allow_extra_args(false);
  run->add_option("--cache", options->cache, "only this cache mode: none, weights or all");
  run->add_option("--only", options->only, "layers, or models end to end; default: both")
      ->check(CLI::IsMember({"layers", "models"}));
  run->add_option(
      "--mode",
      options->modes,
      "how models are executed end to end: plain, or " + results::list_mode_words() +
          " joined by '+'; may be repeated; default: every mode that the run has times for, on one "
          "path");
  run->add_option_function<std::uint64_t>(
         "--workspace-cap",
         [&suite_run](std::uint64_t bytes) {
           suite_run.wanted.division.workspace_cap = {static_cast<std::int64_t>(bytes)};
         },
         "workspace that each layer may use in the mode micro_batch, such as 8MiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 50))
      ->default_str("64MiB");
  run->add_option_function<std::string>(
         "--micro-batch-policy",
         [&suite_run](const std::string& policy) {
           suite_run.wanted.division.policy = results::parse_batch_policy(policy).value();
         },
         "sizes of the parts in the mode micro_batch: undivided, powers_of_two or all")
      ->check(CLI::IsMember({"undivided", "powers_of_two", "all"}))
      ->default_str(std::string(to_text(suite_run.wanted.division.policy)));
  add_worker_options(*run, suite_run.worker);
  run->add_option("--processes",
                  suite_run.processes,
                  "restarted processes that measure each layer's fastest variant and library's "
                  "choice, and each model")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  add_row_timeout(*run, suite_run.row_timeout);
  run->add_option("--profile",
                  options->profile,
                  "where inside layers the time goes: pass samples models after they were "
                  "measured, off does not; always samples them while they are timed, and such a "
                  "run is never a baseline")
      ->check(CLI::IsMember({"off", "pass", "always"}))
      ->capture_default_str();
  add_duration_option(*run,
                      "--profile-budget",
                      suite_run.profile_budget,
                      "time of the pass that samples models; default: 1 % of the run's time");
  add_load_options(*run, options->loads, suite_run);
  add_baseline_options(*run, options->baseline);
  run->callback([&context, options] { measure(context, *options); });
}

namespace {

constexpr std::size_t kMaxExecutions = 1000;  // of a shape, of each kind

struct AlternateOptions {
  SuiteChoice choice{.models = {""}};
  session::WorkerChoice worker;
  std::string mode = "fusion";
  std::size_t executions = 20;
  std::string order = "in_turn";
  std::uint64_t seed = 1;
  Seconds timeout{};
};

/// Returns the extents of a model's inputs: "1×3×224×224".
std::string shape_text(const model::Graph& graph) {
  std::vector<std::string> inputs;
  for (const model::ValueId input : graph.inputs) {
    inputs.push_back(fmt::format("{}", fmt::join(graph.values[input].type.dims, "×")));
  }
  return fmt::format("{}", fmt::join(inputs, " "));
}

worker::Alternation execute(const CommandContext& context,
                            const AlternateOptions& options,
                            const worker::Alternation::Request& request) {
  worker::WorkerProcess worker(session::worker_options(options.worker));
  try {
    return worker.alternate(request, options.timeout, [&] { return !context.stop.load(); });
  } catch (const worker::WorkerDied& death) {
    throw worker::lost_worker(death, "executing " + request.shapes.front().name);
  }
}

void alternate(const CommandContext& context, const AlternateOptions& options) {
  const suite::ResolvedSuite suite = chosen_suite(context.models, options.choice);
  const results::ExecutionMode mode = results::execution_mode_from(options.mode);
  worker::Alternation::Request request =
      session::make_alternate_request(context.models, suite.models, mode);
  std::vector<std::string> shapes;
  for (std::size_t i = 0; i < suite.models.size(); ++i) {
    request.shapes[i].seed = options.seed;
    shapes.push_back(shape_text(session::load_model(context.models, suite.models[i]).graph));
  }
  analysis::AlternationReport report{.model = suite.models.front().name,
                                     .dtype = suite.models.front().dtype,
                                     .mode = to_text(mode),
                                     .stack = options.worker.stack,
                                     .order = *analysis::parse_alternation_order(options.order),
                                     .seed = options.seed,
                                     .shapes = {}};
  request.order =
      analysis::make_alternation(shapes.size(), options.executions, report.order, options.seed);
  const worker::Alternation alternation = execute(context, options, request);
  report.executions = request.order.size();
  report.one_program = alternation.one_program;
  report.preparation = alternation.preparation;
  report.disturbed = alternation.disturbance.disturbed;
  report.shapes = analysis::summarize_alternation(shapes, request.order, alternation.seconds);
  reporting::write_alternation(report, context.output_mode(), std::cout);
}

}  // namespace

void add_alternate(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<AlternateOptions>();
  CLI::App* const command = app.add_subcommand(
      "alternate", "execute a model in several shapes: its first, steady and change-over latency");
  command->add_option("MODEL", options->choice.models.front(), "a built-in name or an .onnx file")
      ->required();
  add_shape_choice(*command, options->choice);
  add_stack_option(*command, options->worker.stack);
  add_mode_option(*command, options->mode);
  add_worker_options(*command, options->worker);
  command
      ->add_option("--executions",
                   options->executions,
                   "executions of each shape behind another shape, and as many behind itself")
      ->check(CLI::Range(std::size_t{1}, kMaxExecutions))
      ->capture_default_str();
  command->add_option("--order", options->order, "how the shapes alternate")
      ->check(CLI::IsMember({"in_turn", "drawn"}))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the inputs, and of the order if it is drawn")
      ->capture_default_str();
  add_duration_option(*command, "--timeout", options->timeout, "10m", "how long it may take");
  command->callback([&context, options] { alternate(context, *options); });
}

}  // namespace plumb::cli
