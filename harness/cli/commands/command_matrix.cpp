// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/results/execution.hpp"
#include "harness/session/stored/several_runs.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/matrix/matrix_documents.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::cli {
namespace {

struct MatrixOptions {
  std::vector<std::string> runs{"@latest"};
  std::vector<std::string> outputs;
  std::string view;
  std::string value;
  std::vector<std::string> modes;
  std::vector<std::string> bounds;
  std::string rows;
  std::string columns;
  std::string relative_to;
  std::string bounds_of;
  std::map<analysis::Axis, std::vector<std::string>> only;
  double limit_ms = 0.0;
  bool list_views = false;
  bool newest = false;
  bool pareto = false;
};

/// Options that keep some places of an axis, by the axis.
struct PlaceOption {
  analysis::Axis axis;
  const char* option;
  const char* help;
};
constexpr std::array<PlaceOption, 7> kPlaceOptions{{
    {analysis::Axis::kModel, "--model", "only this model; may be repeated"},
    {analysis::Axis::kBatch, "--batch", "only this batch; may be repeated"},
    {analysis::Axis::kType, "--dtype", "only this type; may be repeated"},
    {analysis::Axis::kThreads, "--threads", "only this number of threads; may be repeated"},
    {analysis::Axis::kStack, "--stack", "only this stack; may be repeated"},
    {analysis::Axis::kSystem, "--system", "only this system; may be repeated"},
    {analysis::Axis::kRuntime, "--runtime", "only this runtime; may be repeated"},
}};

std::vector<std::string> canonical_modes(const std::vector<std::string>& texts) {
  std::vector<std::string> modes;
  modes.reserve(texts.size());
  for (const std::string& text : texts) {
    modes.push_back(to_text(results::execution_mode_from(text)));
  }
  return modes;
}

/// Returns every default mode but plain, with which speed-ups compare.
std::vector<std::string> modes_beside_plain() {
  std::vector<std::string> modes;
  for (const results::ExecutionMode& mode : results::default_modes()) {
    if (mode != results::ExecutionMode{}) {
      modes.push_back(to_text(mode));
    }
  }
  return modes;
}

bool is_speedup(analysis::Quantity quantity) {
  return quantity == analysis::Quantity::kSpeedup ||
         quantity == analysis::Quantity::kPredictedSpeedup;
}

bool has_fronts(const MatrixOptions& options) {
  return options.pareto || options.limit_ms > 0.0 ||
         (!options.view.empty() && analysis::find_view(options.view).front);
}

/// Returns the query of the view, with what the other options say in its place.
analysis::MatrixQuery requested_query(const MatrixOptions& options) {
  analysis::MatrixQuery query;
  if (!options.view.empty()) {
    query = analysis::find_view(options.view).query;
  }
  if (!options.value.empty()) {
    query.quantity = analysis::parse_quantity(options.value).value();
  }
  if (!options.modes.empty()) {
    query.modes = canonical_modes(options.modes);
  } else if (options.view.empty() && is_speedup(query.quantity)) {
    query.modes = modes_beside_plain();
  }
  if (!options.bounds.empty()) {
    query.bounds.clear();
    for (const std::string& bound : options.bounds) {
      query.bounds.push_back(results::parse_bound_kind(bound).value());
    }
  }
  if (!options.rows.empty()) {
    query.rows = analysis::parse_axis(options.rows).value();
  }
  if (!options.columns.empty()) {
    query.columns = analysis::parse_axis(options.columns).value();
  }
  if (!options.relative_to.empty()) {
    query.relative_to = options.relative_to;
  }
  query.bounds_of = options.bounds_of;
  for (const auto& [axis, places] : options.only) {
    if (!places.empty()) {
      query.only[axis] = places;
    }
  }
  if (options.newest) {
    query.shared = analysis::MatrixQuery::SharedCells::kNewest;
  }
  if (has_fronts(options)) {
    query.columns = analysis::Axis::kBatch;
  }
  return query;
}

void check_fronts(const analysis::MatrixQuery& query) {
  const bool of_times =
      query.quantity == analysis::Quantity::kTime || query.quantity == analysis::Quantity::kP99;
  if (!of_times || !query.relative_to.empty() || query.mean_over_models) {
    throw Error(Error::Kind::kUser,
                "a Pareto front is of latencies: leave --relative-to out, and use --value time or "
                "--value p99");
  }
}

void show_matrix(const CommandContext& context, const MatrixOptions& options) {
  const reporting::OutputMode style = context.output_mode();
  if (options.list_views) {
    reporting::write_views(analysis::matrix_views(), style, std::cout);
    return;
  }
  analysis::MatrixQuery query = requested_query(options);
  if (has_fronts(options)) {
    check_fronts(query);
  }
  const auto store = store::open_store(context.store_url());
  analysis::MatrixReport report;
  report.runs = session::read_matrix_runs({*store, context.models}, options.runs);
  report.matrix = analysis::make_matrix(report.runs, std::move(query));
  if (!options.view.empty()) {
    report.view = &analysis::find_view(options.view);
  }
  if (options.limit_ms > 0.0) {
    report.limit = Seconds(options.limit_ms * 1e-3);
  }
  if (has_fronts(options)) {
    report.fronts = analysis::pareto_fronts(report.matrix, report.limit);
  }
  report.commands = session::commands_for_missing(*store, report.runs, report.matrix);
  reporting::write_matrix(report, style, std::cout);
  reporting::write_reports(
      report, reporting::matrix_formats(), options.outputs, terminal::announce_report);
}

void add_choice(CLI::App& command, MatrixOptions& options) {
  command
      .add_option("--value", options.value, "what cells hold; default: time, the median end to end")
      ->check(CLI::IsMember(analysis::quantity_names()));
  command
      .add_option("--mode",
                  options.modes,
                  "mode of the executions; may be repeated; default: plain, of speed-ups all but "
                  "plain")
      ->allow_extra_args(false);
  command
      .add_option("--bound",
                  options.bounds,
                  "kind of bound of --value bound, gap and normalized_bound; may be repeated; "
                  "default: library")
      ->check(CLI::IsMember({"hardware",
                             "library",
                             "library_parallel",
                             "predicted",
                             "benanza_sequential",
                             "benanza_parallel"}))
      ->allow_extra_args(false);
  command.add_option("--rows", options.rows, "axis of the rows; default: model")
      ->check(CLI::IsMember(analysis::axis_names()));
  command
      .add_option("--columns",
                  options.columns,
                  "axis of the columns; default: the first on which the results differ")
      ->check(CLI::IsMember(analysis::axis_names()));
  command.add_option("--relative-to",
                     options.relative_to,
                     "divide each cell by its row's cell in this column; @first is the first");
  command.add_option(
      "--bounds-of",
      options.bounds_of,
      "stack whose bounds hold for the results of all stacks on its system; default: "
      "each run's own");
  for (const PlaceOption& place : kPlaceOptions) {
    command.add_option(place.option, options.only[place.axis], place.help)->allow_extra_args(false);
  }
  command.add_flag("--newest",
                   options.newest,
                   "where several runs fill a cell, take the newest instead of the middle one");
}

}  // namespace

void add_matrix(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<MatrixOptions>();
  CLI::App* const command = app.add_subcommand(
      "matrix", "models beside stacks, systems, batches, types, threads, runtimes or modes");
  command
      ->add_option(
          "RUN", options->runs, "runs: id, unique prefix, tag, @latest, A,B,C, TAG/*, or @all")
      ->capture_default_str();
  command->add_option(
      "--view", options->view, "a ready view; other options take the place of its own");
  command->add_flag("--list-views", options->list_views, "list the ready views");
  add_choice(*command, *options);
  command->add_flag(
      "--pareto", options->pareto, "latency against throughput over the batches of each model");
  command
      ->add_option("--limit-ms",
                   options->limit_ms,
                   "limit of the latency in milliseconds: the best batch within it; means --pareto")
      ->check(positive_number());
  command
      ->add_option("-o,--output",
                   options->outputs,
                   "also write this report; may be repeated: " +
                       reporting::format_list(reporting::matrix_formats()))
      ->each(reporting::check_format(reporting::matrix_formats()));
  command->callback([&context, options] { show_matrix(context, *options); });
}

}  // namespace plumb::cli
