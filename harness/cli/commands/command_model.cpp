// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/model/onnx/weights.hpp"
#include "harness/rewrite/gradient/frozen_values.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/session/host/model_export.hpp"
#include "harness/session/zoo/zoo_models.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/training_documents.hpp"
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
  const rewrite::TrainingChoice choice{.loss = rewrite::parse_loss(options.loss),
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
      for (const zoo::ModelAxis& axis : entry.axes) {
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

}  // namespace plumb::cli
