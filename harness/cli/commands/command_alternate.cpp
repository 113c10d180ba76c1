// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/alternation/shape_latencies.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/work/suite_models.hpp"
#include "reporting/content/run/alternation_documents.hpp"

namespace plumb::cli {
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
                            const worker::AlternateRequest& request) {
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
  worker::AlternateRequest request =
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
