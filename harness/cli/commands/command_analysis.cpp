// SPDX-License-Identifier: Apache-2.0
// The commands that analyse a stored run: bound, whatif, report.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/qualify/qualification.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/run.hpp"
#include "harness/serve/store_metrics.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/study/criteria_file.hpp"
#include "harness/session/study/qualification_session.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/worker_requests.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/content/comparison/comparison_report.hpp"
#include "reporting/content/qualification/qualification_report.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::cli {
namespace {

/// What the what-ifs of a run lack.
struct MissingEvidence {
  std::set<results::ExecutionMode> modes;  ///< of all what-ifs that apply, if one was not executed
  std::vector<int> threads;                ///< with which the layers have no times
  std::set<std::string> types;             ///< in which layers of f32 models have no rows
  std::set<model::LayerKey> padded;        ///< layers with channels in whole blocks

  [[nodiscard]] bool empty() const {
    return modes.empty() && threads.empty() && types.empty() && padded.empty();
  }
};

bool was_tried(const analysis::ModelBounds& model, const std::string& mode) {
  return std::any_of(model.executions.begin(),
                     model.executions.end(),
                     [&](const analysis::ExecutionTime& each) { return each.mode == mode; });
}

/// Returns the choice that a run was made with. Throws Error{kUser} if it is not known.
SuiteChoice choice_of(const results::RunHeader& run) {
  constexpr std::size_t kSuite = 2;  // of "plumb run SUITE"
  const std::vector<std::string>& words = run.command;
  if (words.size() <= kSuite || words[1] != "run") {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} was not made by `plumb run`, so there is nothing to repeat: "
                            "measure a suite first",
                            run.id));
  }
  SuiteChoice choice;
  choice.suite = words[kSuite];
  for (std::size_t i = kSuite + 1; i + 1 < words.size(); i += 2) {
    std::vector<std::string>* const values = words[i] == "--model"      ? &choice.models
                                             : words[i] == "--batch"    ? &choice.batches
                                             : words[i] == "--rebatch"  ? &choice.rebatches
                                             : words[i] == "--dtype"    ? &choice.dtypes
                                             : words[i] == "--training" ? &choice.trainings
                                             : words[i] == "--loss"     ? &choice.losses
                                             : words[i] == "--freeze"   ? &choice.frozen
                                             : words[i] == "--dim"      ? &choice.dims
                                                                        : nullptr;
    if (values != nullptr) {
      values->push_back(words[i + 1]);
    }
  }
  return choice;
}

/// Measures a suite once, its layers in other types as well, and keeps what follows from it. Throws
/// Error{kTryAgain} if it did not finish.
analysis::RunReport measure_once(CommandContext& context,
                                 store::Store& store,
                                 const RunOptions& options,
                                 suite::ResolvedSuite suite,
                                 std::set<std::string> types = {}) {
  const std::vector<session::PlannedModel> models = session::prepare_models(context.models, suite);
  session::SuiteRun::Options run = suite_run_options(options, options.stacks.front());
  run.types = std::move(types);
  run.wanted.alternations = false;  // no what-if rests on them
  const session::SuiteRun outcome = session::run_suite(context.session(store), run, suite, models);
  analysis::RunReport report =
      session::analyze_run({store, context.models}, store.find_run(outcome.run), {});
  session::store_analysis(store, report);
  if (outcome.state != results::RunState::kFinished && !context.stop.load()) {
    throw Error(Error::Kind::kTryAgain,
                fmt::format("run {} did not finish: see the messages above", outcome.run));
  }
  return report;
}

/// Returns a suite of layers with their channels padded.
suite::ResolvedSuite suite_of_padded(const std::set<model::LayerKey>& keys) {
  suite::ResolvedSuite suite;
  suite.name = "padded-layers";
  suite.caches = {results::CacheMode::kNone};
  for (const model::LayerKey& key : keys) {
    suite.layers.push_back({.key = key, .count = 1, .file = "plumb whatif --measure"});
  }
  return suite;
}

/// Returns whether a run has tried to measure every layer of a model in a type. True of a model
/// that has no form in it.
bool was_measured(const analysis::RunReport::Model& model,
                  std::string_view type,
                  const std::set<model::LayerKey>& measured) {
  const std::vector<session::PlannedModel> models{{model.bounds.instance, model.graph}};
  const auto typed = session::models_in_other_forms(models, {}, {std::string(type)});
  return std::all_of(typed.begin(), typed.end(), [&](const session::PlannedModel& each) {
    return std::all_of(
        each.graph.layers.begin(), each.graph.layers.end(), [&](const model::Layer& layer) {
          return layer.role != model::Layer::Role::kCompute || measured.contains(layer.key);
        });
  });
}

/// Lists what the what-ifs of a run lack. A mode that was tried and refused is not missing, and
/// neither is a type that was. Layers are wanted with 1, 2, 4 … threads below the run's own, in the
/// types of the what-ifs that apply, and with their channels padded.
MissingEvidence find_missing(const analysis::RunReport& report) {
  MissingEvidence missing;
  const int threads = results::threads_of(report.run.header.environment);
  // How fast a GPU is does not follow from the threads of its worker.
  const bool scales = threads > 1 && !results::is_gpu(report.run.header.environment);
  std::set<model::LayerKey> measured;
  for (const results::StoredMeasurement& row : report.rows) {
    measured.insert(row.measurement.key);
  }
  bool all_executed = true;
  for (const analysis::RunReport::Model& model : report.models) {
    if (scales && model.schedules.empty()) {
      missing.threads.clear();
      for (int fewer = 1; fewer < threads; fewer *= 2) {
        missing.threads.push_back(fewer);
      }
    }
    for (const analysis::ModelLimits::Step& step : model.limits.steps) {
      if (!step.padded.text.empty() && !step.padded_seconds) {
        missing.padded.insert(step.padded);
      }
    }
    for (const analysis::WhatIfResult& result : model.whatifs.whatifs) {
      if (result.execution_mode.empty()) {
        continue;  // no mode switches it on
      }
      const results::ExecutionMode mode = results::execution_mode_from(result.execution_mode);
      // The fastest variants of a mode are those of measured layers.
      const bool needs_times = mode.best_variant && !result.predicted;
      if (!result.applies || (mode.parallel_branches && threads < 2)) {
        continue;
      }
      const std::string_view type = mode.other_type();
      if (!type.empty() && !was_measured(model, type, measured)) {
        missing.types.emplace(type);
      }
      if (needs_times) {
        continue;
      }
      missing.modes.insert(mode);
      missing.modes.insert(results::execution_mode_from(result.baseline_mode));
      all_executed = all_executed && was_tried(model.bounds, result.execution_mode);
    }
  }
  if (all_executed) {
    missing.modes.clear();
  }
  return missing;
}

/// Measures what a run's what-ifs lack, as their commands say: the layers with fewer threads and in
/// other types in runs of their own, then the models in all modes in one more run, which reuses the
/// layers' rows. Returns the run to look at, which is the given one if nothing is missing. `models`
/// names the models that are wanted; none: all. Throws Error{kUser} for a run that `plumb run` did
/// not make.
[[nodiscard]] results::RunId measure_missing(CommandContext& context,
                                             store::Store& store,
                                             const analysis::RunReport& report,
                                             const std::vector<std::string>& models) {
  const results::RunHeader& run = report.run.header;
  MissingEvidence missing = find_missing(report);
  if (missing.empty()) {
    spdlog::info("run {} lacks nothing that can be measured", run.id);
    return run.id;
  }
  RunOptions options;
  options.choice = choice_of(run);
  if (!models.empty() && !options.choice.suite.empty()) {
    options.choice.models = models;
  }
  options.stacks = {run.stack};
  options.suite_run.worker = {
      run.stack, results::threads_of(run.environment), session::device_of(run)};
  options.reuse = "always";
  options.suite_run.wanted.division =
      results::division_rule_of(run.environment).value_or(results::VariantId::DivisionRule{});
  RunOptions layers = options;
  layers.only = "layers";
  if (!missing.padded.empty()) {
    spdlog::info("measuring {} layers with padded channels", missing.padded.size());
    RunOptions padded = layers;
    padded.choice = {};
    static_cast<void>(measure_once(context, store, padded, suite_of_padded(missing.padded)));
  }
  for (const int threads : missing.threads) {
    if (context.stop.load()) {
      return run.id;
    }
    spdlog::info("measuring the layers with {} thread{}", threads, threads == 1 ? "" : "s");
    RunOptions fewer = layers;
    fewer.suite_run.worker.threads = threads;
    static_cast<void>(measure_once(context, store, fewer, requested_suite(context.models, fewer)));
  }
  if (!missing.types.empty() && !context.stop.load()) {
    spdlog::info("measuring the layers in {}", fmt::join(missing.types, ", "));
    // Which modes are worth executing follows from these times.
    missing.modes =
        find_missing(
            measure_once(
                context, store, layers, requested_suite(context.models, layers), missing.types))
            .modes;
  }
  if (missing.modes.empty() || context.stop.load()) {
    return run.id;
  }
  std::set<std::string> types;
  for (const results::ExecutionMode& mode : missing.modes) {
    options.modes.push_back(to_text(mode));
    if (!mode.other_type().empty()) {
      types.emplace(mode.other_type());
    }
  }
  spdlog::info("executing the models in the modes {}", fmt::join(options.modes, ", "));
  return measure_once(
             context, store, options, requested_suite(context.models, options), std::move(types))
      .run.header.id;
}

struct AnalysisOptions {
  std::string run = "@latest";
  std::vector<std::string> models;
  std::string output;
  bool all = false;
  bool measure = false;
  std::string criteria;
  bool dashboard = false;
  double days = 90.0;
};

void add_run_options(CLI::App& command, AnalysisOptions& options) {
  command.add_option("RUN", options.run, "a run: id, unique prefix, tag or @latest")
      ->capture_default_str();
  command.add_option("--model", options.models, "only this model; may be repeated");
}

analysis::RunReport analyze(const CommandContext& context, const AnalysisOptions& options) {
  const auto store = store::open_store(context.store_url());
  analysis::RunReport report =
      session::analyze_run({*store, context.models}, store->find_run(options.run), options.models);
  report.commits = context.commits();
  return report;
}

std::string today() {
  return to_text(current_time()).substr(0, 10);
}

[[noreturn]] void refuse_criteria(const std::string& run) {
  throw Error(Error::Kind::kUser,
              fmt::format("--criteria judges a stored qualification, and '{}' is not one: name the "
                          "two runs that `plumb qualify` printed, as BASE..CAND",
                          run));
}

void write_report(CommandContext& context, const AnalysisOptions& options) {
  if (options.dashboard) {
    if (!options.output.ends_with(".html")) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("a dashboard is an .html file, not '{}': name one with -o", options.output));
    }
    const auto store = store::open_store(context.store_url());
    reporting::Dashboard dashboard = serve::make_dashboard(
        {*store, context.models}, current_time(), Seconds(options.days * 86400.0));
    dashboard.version = context.version;
    dashboard.commits = context.commits();
    write_whole_file(options.output,
                     [&](std::ostream& out) { reporting::write_dashboard(dashboard, out); });
    terminal::announce_report(options.output);
  } else if (const auto runs = session::compared_runs(options.run)) {
    const auto store = store::open_store(context.store_url());
    if (auto kept = session::kept_qualification(*store, runs->first, runs->second)) {
      if (!options.criteria.empty()) {
        analysis::judge_again(kept->qualification,
                              session::read_criteria(options.criteria, today()));
      }
      reporting::write_reports(
          *kept, reporting::qualification_formats(), {options.output}, terminal::announce_report);
      if (!options.criteria.empty()) {
        reporting::write_qualification(*kept, context.output_mode(), std::cout);
      }
    } else if (!options.criteria.empty()) {
      refuse_criteria(options.run);
    } else {
      analysis::ComparisonReport report =
          session::kept_comparison({*store, context.models}, runs->first, runs->second);
      report.commits = context.commits();
      reporting::write_reports(
          report, reporting::comparison_formats(), {options.output}, terminal::announce_report);
    }
  } else if (!options.criteria.empty()) {
    refuse_criteria(options.run);
  } else {
    static_cast<void>(reporting::format_for(reporting::report_formats(), options.output));
    analysis::RunReport report = analyze(context, options);
    session::add_profiles(*store::open_store(context.store_url()), report);
    reporting::write_reports(
        report, reporting::report_formats(), {options.output}, terminal::announce_report);
  }
}

}  // namespace

void add_bound(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App* const command =
      app.add_subcommand("bound", "lower bounds of a run's models, and what they are made of");
  add_run_options(*command, *options);
  command->add_flag("--all",
                    options->all,
                    "every bound with its interval, completeness and age, and all findings");
  command->callback([&context, options] {
    reporting::write_bounds(analyze(context, *options),
                            context.output_mode(),
                            std::cout,
                            options->all ? reporting::Detail::kAll : reporting::Detail::kShort);
  });
}

void add_whatif(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App* const command = app.add_subcommand("whatif", "what each optimisation would bring");
  add_run_options(*command, *options);
  command->add_flag("--all",
                    options->all,
                    "for each of them what switches it on, what it needs and where it saves");
  command->add_flag("--measure",
                    options->measure,
                    "execute first what has no realised saving, and the layers with fewer threads "
                    "and in other types; then look at that run");
  command->callback([&context, options] {
    if (options->measure) {
      const auto store = store::open_store(context.store_url());
      options->run = measure_missing(context, *store, analyze(context, *options), options->models);
    }
    reporting::write_what_ifs(analyze(context, *options),
                              context.output_mode(),
                              std::cout,
                              options->all ? reporting::Detail::kAll : reporting::Detail::kShort);
  });
}

void add_report(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App* const command = app.add_subcommand(
      "report", "write a report of a run, or of all; the extension chooses the format");
  add_run_options(*command, *options);
  command->get_option("RUN")->description(
      "a run: id, unique prefix, tag or @latest; or a comparison or qualification of two: "
      "BASE..CAND");
  command
      ->add_option("-o,--output",
                   options->output,
                   "file to write: " + reporting::format_list(reporting::report_formats()))
      ->required();
  CLI::Option* const dashboard =
      command
          ->add_flag("--dashboard",
                     options->dashboard,
                     "all runs of the store over time instead of one run (.html)")
          ->excludes("RUN", "--model");
  command->add_option("--days", options->days, "how many days the dashboard goes back")
      ->check(CLI::Range(0.0, 36500.0))
      ->needs(dashboard)
      ->capture_default_str();
  command
      ->add_option("--criteria",
                   options->criteria,
                   "judge a stored qualification again by the criteria in this file")
      ->excludes(dashboard);
  command->callback([&context, options] { write_report(context, *options); });
}

}  // namespace plumb::cli
