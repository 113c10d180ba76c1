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

struct CalibrateOptions {
  std::string suite;
  std::string budget;
  std::string only;
  std::string row_timeout = "60s";
  session::NoiseStudyOptions study;
};

void calibrate(CommandContext& context, CalibrateOptions options) {
  session::NoiseStudyOptions& study = options.study;
  if (!options.budget.empty()) {
    study.budget = suite::parse_duration(options.budget);
  }
  study.row_timeout = suite::parse_duration(options.row_timeout);
  study.models = options.only != "layers";
  study.command = {"plumb",
                   "calibrate",
                   options.suite,
                   "--stack",
                   study.stack,
                   "--pairs",
                   std::to_string(study.pairs)};
  suite::ResolvedSuite suite =
      session::resolve_suite(context.models, suite::read_suite(session::find_suite(options.suite)));
  const std::vector<session::PlannedModel> models = session::prepare_models(context.models, suite);
  const auto store = store::open_store(context.store_url(), CommandContext::for_runs());
  const analysis::NoiseReport report =
      session::study_noise(context.session(*store), suite, models, study);
  reporting::write_noise(report,
                         context.json ? reporting::OutputMode::kJson : reporting::OutputMode::kText,
                         std::cout);
}

}  // namespace

void add_calibrate(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* const command = app.add_subcommand(
      "calibrate", "measure a stack against itself: noise, false alarms, power, floors");
  command->add_option("SUITE", options->suite, "a path or an installed name")->required();
  command->add_option("--stack", options->study.stack, "library version to measure with")
      ->capture_default_str();
  command->add_option("--pairs", options->study.pairs, "pairs of restarted processes")
      ->check(CLI::Range(analysis::kMinCalibrationPairs, std::size_t{500}))
      ->capture_default_str();
  command->add_option("--budget", options->budget, "no pair starts after this time, such as 30m");
  command->add_option("--only", options->only, "layers: do not measure models end to end")
      ->check(CLI::IsMember({"layers"}));
  command
      ->add_option(
          "--comparisons", options->study.plan.comparisons, "number of pseudo comparisons to draw")
      ->check(CLI::Range(100, 100'000))
      ->capture_default_str();
  command->add_option("--threads", options->study.threads, "threads of the workers")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  add_device_option(*command, options->study.device);
  command->add_option("--row-timeout", options->row_timeout, "how long a worker may be silent")
      ->capture_default_str();
  command->callback([&context, options] { calibrate(context, *options); });
}

}  // namespace plumb::cli
