// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "harness/analysis/compare/rounds/sequential_comparison.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/session/study/bisection_search.hpp"
#include "harness/suite/suite.hpp"
#include "reporting/content/comparison/bisection.hpp"

namespace plumb::cli {
namespace {

struct BisectOptions {
  session::BisectionOptions search;
  std::string row_timeout = "60s";
};

void bisect(CommandContext& context, BisectOptions options) {
  options.search.row_timeout = suite::parse_duration(options.row_timeout);
  const auto store = store::open_store(context.store_url());
  const analysis::Bisection bisection =
      session::search_stacks(context.session(*store), options.search);
  reporting::write_bisection(
      bisection,
      context.json ? reporting::OutputMode::kJson : reporting::OutputMode::kText,
      std::cout);
  const bool open = std::any_of(
      bisection.steps.begin(), bisection.steps.end(), [](const analysis::BisectionStep& step) {
        return step.test.verdict == analysis::ComparisonVerdict::kInconclusive;
      });
  if (open && !bisection.exact) {
    context.exit_status = static_cast<int>(Error::Kind::kTryAgain);
  }
}

}  // namespace

void add_bisect(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<BisectOptions>();
  CLI::App* const command = app.add_subcommand(
      "bisect", "find the first of several stacks on which a layer is slower, or broken");
  command->add_option("KEY", options->search.key, "a layer key, quoted: 'v1:conv;in=…'")
      ->required();
  command->add_option("--good", options->search.good, "a stack on which the layer works well")
      ->required();
  command
      ->add_option("--bad", options->search.bad, "a stack on which the layer is slower, or broken")
      ->required();
  command->add_option(
      "--stack",
      options->search.stacks,
      "a stack to search between these two; may be repeated; default: all stacks of the backend");
  command
      ->add_option(
          "--pairs", options->search.pairs, "pairs of restarted processes for each stack, at most")
      ->check(CLI::Range(analysis::kMinDesign, std::size_t{200}))
      ->capture_default_str();
  command
      ->add_option("--control-drift",
                   options->search.drift,
                   "largest relative difference of a control within a pair that counts")
      ->check(CLI::Range(1e-6, 1000.0))
      ->capture_default_str();
  command->add_option("--threads", options->search.threads, "threads of the workers")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--row-timeout", options->row_timeout, "how long a worker may be silent")
      ->capture_default_str();
  command->callback([&context, options] { bisect(context, *options); });
}

}  // namespace plumb::cli
