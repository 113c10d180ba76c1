// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/command.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/study/noise_study.hpp"
#include "harness/session/work/suite_models.hpp"
#include "reporting/content/comparison/noise_documents.hpp"

namespace plumb::cli {
namespace {

void calibrate(CommandContext& context,
               const std::string& name,
               session::PairedOptions options,
               const analysis::ResamplingPlan& plan) {
  options.command = {"plumb",
                     "calibrate",
                     name,
                     "--stack",
                     options.worker.stack,
                     "--pairs",
                     std::to_string(options.pairs)};
  suite::ResolvedSuite suite =
      session::resolve_suite(context.models, suite::read_suite(session::find_suite(name)));
  const std::vector<session::PlannedModel> models = session::prepare_models(context.models, suite);
  const auto store = store::open_store(context.store_url(), CommandContext::for_runs());
  const analysis::NoiseReport report =
      session::study_noise(context.session(*store), suite, models, options, plan);
  reporting::write_noise(report, context.output_mode(), std::cout);
}

}  // namespace

void add_calibrate(CLI::App& app, CommandContext& context) {
  const auto suite = std::make_shared<std::string>();
  const auto paired = std::make_shared<session::PairedOptions>();
  const auto plan = std::make_shared<analysis::ResamplingPlan>();
  CLI::App* const command = app.add_subcommand(
      "calibrate", "measure a stack against itself: noise, false alarms, power, floors");
  command->add_option("SUITE", *suite, "a path or an installed name")->required();
  add_stack_option(*command, paired->worker.stack);
  command->add_option("--pairs", paired->pairs, "pairs of restarted processes")
      ->check(CLI::Range(analysis::kMinCalibrationPairs, std::size_t{500}))
      ->capture_default_str();
  add_duration_option(
      *command, "--budget", paired->budget, "no pair starts after this time, such as 30m");
  command
      ->add_option_function<std::string>(
          "--only",
          [paired](const std::string&) { paired->modes.clear(); },
          "layers: do not measure models end to end")
      ->check(CLI::IsMember({"layers"}));
  command->add_option("--comparisons", plan->comparisons, "number of pseudo comparisons to draw")
      ->check(CLI::Range(100, 100'000))
      ->capture_default_str();
  add_worker_options(*command, paired->worker);
  add_row_timeout(*command, paired->row_timeout);
  command->callback(
      [&context, suite, paired, plan] { calibrate(context, *suite, *paired, *plan); });
}

}  // namespace plumb::cli
