// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/model/onnx/weights.hpp"
#include "harness/results/execution.hpp"
#include "harness/rewrite/gradient/training_graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/session/host/model_export.hpp"
#include "harness/session/stored/named_runs.hpp"
#include "harness/session/zoo/zoo_models.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/content/matrix/matrix_documents.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/training_documents.hpp"
#include "reporting/formats/output_format.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::cli {
namespace {

struct ModelChoice {
  std::string model;
  std::int64_t batch = 0;
  std::int64_t rebatch = 0;
  std::vector<std::string> dims;
  std::string output;
  bool weights = false;
  std::string stack = "default";
  std::uint64_t seed = 1;
  bool training = false;
  std::string loss;
  std::vector<std::string> frozen;
  std::string optimizer;
};

constexpr const char* kDimHelp =
    "NAME=VALUE sets an axis of a built-in model, or a file's dynamic dimension; may be repeated";

model::ReadOptions read_options(const ModelChoice& options) {
  model::ReadOptions read;
  if (options.batch > 0) {
    read.batch = options.batch;
  }
  if (options.rebatch > 0) {
    read.batch = options.rebatch;
    read.rebatch = true;
  }
  for (const std::string& dim : options.dims) {
    const std::size_t equals = dim.find('=');
    std::int64_t value = 0;
    const char* const end = dim.data() + dim.size();
    const auto parsed = equals == std::string::npos
                            ? std::from_chars_result{end, std::errc::invalid_argument}
                            : std::from_chars(dim.data() + equals + 1, end, value);
    if (parsed.ec != std::errc{} || parsed.ptr != end || value < 1) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'--dim {}' is not NAME=VALUE with a positive value", dim));
    }
    read.dims[dim.substr(0, equals)] = value;
  }
  return read;
}

reporting::ShownStep shown_step(const model::Graph& graph, const ModelChoice& options) {
  const rewrite::TrainingGraph::Choice choice{
      .loss = rewrite::parse_loss(options.loss),
      .frozen = rewrite::frozen_values(graph, options.frozen)};
  const auto optimizer = rewrite::parse_optimizer(options.optimizer);
  if (!optimizer) {
    return {rewrite::training_graph(graph, choice), {}, 0};
  }
  rewrite::TrainingStep step =
      rewrite::training_step(graph, choice, rewrite::standard_optimizer(*optimizer));
  return {std::move(step.training), optimizer, step.first_update_layer};
}

void export_model(const ModelChoice& options) {
  onnx::ModelProto model = session::build_zoo_model(options.model, read_options(options));
  if (options.weights) {
    model::fill_weights(model, options.seed);
  }
  const std::string file = options.output.empty() ? options.model + ".onnx" : options.output;
  write_whole_file(file, [&](std::ostream& out) {
    if (!model.SerializeToOstream(&out)) {
      out.setstate(std::ios::failbit);
    }
  });
  terminal::say(
      fmt::format("model: {}{}",
                  file,
                  options.weights ? "" : " (without weights; --weights adds seeded random ones)"));
}

}  // namespace

void add_model(CLI::App& app, CommandContext& context) {
  CLI::App* const model = app.add_subcommand("model", "list, show and export models");
  model->require_subcommand(1);
  model->add_subcommand("list", "the built-in models")->callback([&context] {
    std::vector<reporting::ModelListing> listings;
    for (const zoo::Entry& entry : zoo::entries()) {
      reporting::ModelListing listing{.name = std::string(entry.name),
                                      .source = std::string(entry.source),
                                      .task = std::string(entry.task),
                                      .axes = {},
                                      .rounds = std::string(entry.rounds),
                                      .deviations = std::string(entry.deviations)};
      for (const zoo::Entry::Sizes::Axis& axis : entry.axes) {
        listing.axes.emplace(axis.name, axis.standard);
      }
      listings.push_back(std::move(listing));
    }
    reporting::write_model_list(listings, context.output_mode(), std::cout);
  });

  const auto options = std::make_shared<ModelChoice>();
  CLI::App* const show =
      model->add_subcommand("show", "layers, keys, arithmetic and bytes of one model");
  show->add_option("MODEL",
                   options->model,
                   "a built-in name, a path to an .onnx file, or FILE.py:NAME with --stack")
      ->required();
  show->add_option("--stack", options->stack, "stack that runs the code of FILE.py:NAME")
      ->capture_default_str();
  CLI::Option* const batch =
      show->add_option("--batch",
                       options->batch,
                       "batch of a built-in model, or of first dimensions that a file leaves open")
          ->check(positive_number());
  show->add_option("--rebatch",
                   options->rebatch,
                   "as --batch, and rewrites the first dimension of inputs that a file fixes")
      ->check(positive_number())
      ->excludes(batch);
  show->add_option("--dim", options->dims, kDimHelp);
  CLI::Option* const training = show->add_flag(
      "--training", options->training, "one step of training: the model, a loss and its gradients");
  show->add_option("--loss",
                   options->loss,
                   "what the step makes smaller; default: what the model's last layer asks for")
      ->check(CLI::IsMember(rewrite::loss_names()))
      ->needs(training);
  show->add_option("--freeze",
                   options->frozen,
                   "weights that stay as they are: names in which '*' stands for any characters, "
                   "or batch_norm; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(training);
  show->add_option("--optimizer", options->optimizer, "what updates the weights; default: nothing")
      ->check(CLI::IsMember(rewrite::optimizer_names()))
      ->needs(training);
  show->callback([&context, options] {
    const auto code = session::parse_model_code(options->model);
    const std::string file =
        code ? session::export_model(*code, {options->stack}, context.stop).path.string()
             : options->model;
    model::Graph graph = session::load_graph(context.models, file, read_options(*options));
    if (code) {
      graph.name = session::name_of(*code);
    }
    for (const std::string& note : graph.notes) {
      spdlog::warn("{}", note);
    }
    const reporting::OutputMode style = context.output_mode();
    if (options->training) {
      reporting::write_training(shown_step(graph, *options), style, std::cout);
    } else {
      reporting::write_model(graph, style, std::cout);
    }
  });

  CLI::App* const exporting = model->add_subcommand("export", "write a built-in model as ONNX");
  exporting->add_option("MODEL", options->model, "a built-in name")->required();
  exporting->add_option("--batch", options->batch, "batch size")->check(positive_number());
  exporting->add_option("--dim", options->dims, kDimHelp);
  exporting->add_option("-o,--output", options->output, "file; default MODEL.onnx");
  exporting->add_flag("--weights",
                      options->weights,
                      "fill in seeded random weights, so that any runtime can run it");
  exporting->add_option("--seed", options->seed, "seed of the weights")->capture_default_str();
  exporting->callback([options] { export_model(*options); });
}

void add_suite(CLI::App& app, CommandContext& context) {
  CLI::App* const suite = app.add_subcommand("suite", "show suites");
  suite->require_subcommand(1);
  const auto choice = std::make_shared<SuiteChoice>();
  CLI::App* const show =
      suite->add_subcommand("show", "the suite as it runs: every default explicit");
  add_suite_choice(*show, *choice);
  // The resolved suite is JSON with and without --json.
  show->callback([&context, choice] {
    const suite::ResolvedSuite resolved = chosen_suite(context.models, *choice);
    nlohmann::json document = nlohmann::json::parse(to_json(resolved));
    document["schema_version"] = 1;
    if (!resolved.exclusions.empty()) {
      document["exclude"] = nlohmann::json::parse(to_json(resolved.exclusions)).at("exclusions");
    }
    std::cout << json_text(document, 2) << '\n';
  });
}

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
analysis::Matrix::Query requested_query(const MatrixOptions& options) {
  analysis::Matrix::Query query;
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
    query.shared = analysis::Matrix::Query::SharedCells::kNewest;
  }
  if (has_fronts(options)) {
    query.columns = analysis::Axis::kBatch;
  }
  return query;
}

void check_fronts(const analysis::Matrix::Query& query) {
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
  analysis::Matrix::Query query = requested_query(options);
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
