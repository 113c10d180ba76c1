// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/sample_file.hpp"
#include "reporting/change_documents.hpp"

namespace plumb {
namespace {

struct CompareOptions {
  std::string samples;
  bool gate = false;
  ComparisonLimits limits;
};

/// Is the exit status of a gate: 1 for a break or a regression, else 75 if something stays open.
int gate_status(std::span<const PairedAnswer> answers) {
  const auto any = [&](ComparisonVerdict verdict) {
    return std::any_of(answers.begin(), answers.end(), [&](const PairedAnswer& answer) {
      return answer.verdict == verdict;
    });
  };
  if (any(ComparisonVerdict::kBroken) || any(ComparisonVerdict::kRegressed)) {
    return 1;
  }
  return any(ComparisonVerdict::kInconclusive) || answers.empty()
             ? static_cast<int>(Error::Kind::kTryAgain)
             : 0;
}

}  // namespace

void add_compare(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* const command = app.add_subcommand(
      "compare", "say what changed between two sides measured in turn, and by how much");
  command
      ->add_option("--samples",
                   options->samples,
                   "a JSON file of paired rounds in seconds: {\"comparisons\":[{\"id\",\"end_to_end\":"
                   "{\"baseline\":[…],\"candidate\":[…]},\"layers\":{\"NAME\":{…}}}]}")
      ->required();
  command->add_flag("--gate",
                    options->gate,
                    "exit 1 if something is broken or regressed, else 75 if something is inconclusive");
  ComparisonLimits& limits = options->limits;
  const CLI::Range share(1e-6, 0.5);
  const CLI::Range floor(0.0, 10.0);
  command->add_option("--alpha", limits.alpha, "false alarms of the end-to-end test")
      ->check(share)
      ->capture_default_str();
  command->add_option("--fdr", limits.false_discovery_rate, "false discoveries among the layers")
      ->check(share)
      ->capture_default_str();
  command
      ->add_option("--floor", limits.end_to_end_floor, "relative end-to-end changes below are none")
      ->check(floor)
      ->capture_default_str();
  command->add_option("--layer-floor", limits.layer_floor, "relative layer changes below are none")
      ->check(floor)
      ->capture_default_str();
  command->callback([&context, options] {
    std::vector<PairedAnswer> answers;
    for (const PairedQuestion& question : read_paired_samples(options->samples)) {
      answers.push_back(compare_pairs(question, options->limits));
    }
    write_comparisons(answers, context.json ? Style::kJson : Style::kText, std::cout);
    if (options->gate) {
      context.exit_status = gate_status(answers);
    }
  });
}

}  // namespace plumb
