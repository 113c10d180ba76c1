// SPDX-License-Identifier: Apache-2.0
// The commands that analyse a stored run: bound, whatif, report.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "harness/analysis/qualify/criteria_judgement.hpp"
#include "harness/base/error.hpp"
#include "harness/base/whole_file.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/what_if_measurement.hpp"
#include "harness/serve/run_dashboard.hpp"
#include "harness/session/profile/stored_profiles.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_qualification.hpp"
#include "harness/session/study/criteria_file.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/comparison/comparison_report.hpp"
#include "reporting/content/qualification/qualification_report.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::cli {
namespace {

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
    if (auto kept = session::kept_qualification(*store, runs->baseline, runs->candidate)) {
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
      analysis::RunComparisonReport report =
          session::kept_comparison({*store, context.models}, *runs);
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
