// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_analysis.hpp"
#include "harness/cli/sample_file.hpp"
#include "reporting/change_documents.hpp"

namespace plumb {
namespace {

struct CompareOptions {
  std::string baseline;
  std::string candidate;
  std::vector<std::string> varied;
  std::string samples;
  bool gate = false;
  ComparisonLimits limits;
};

/// Is the exit status of a gate: 1 for a break or a regression, else 75 if something stays open.
int gate_status(std::span<const ComparisonVerdict> verdicts) {
  const auto any = [&](ComparisonVerdict verdict) {
    return std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end();
  };
  if (any(ComparisonVerdict::kBroken) || any(ComparisonVerdict::kRegressed)) {
    return 1;
  }
  return any(ComparisonVerdict::kInconclusive) || verdicts.empty()
             ? static_cast<int>(Error::Kind::kTryAgain)
             : 0;
}

/// Compares the paired rounds of a file; returns one verdict a question.
std::vector<ComparisonVerdict> compare_samples(const CompareOptions& options, Style style) {
  std::vector<PairedAnswer> answers;
  std::vector<ComparisonVerdict> verdicts;
  for (const PairedQuestion& question : read_paired_samples(options.samples)) {
    answers.push_back(compare_pairs(question, options.limits));
    verdicts.push_back(answers.back().verdict);
  }
  write_comparisons(answers, style, std::cout);
  return verdicts;
}

/// Throws Error{kRefused} if the runs differ in more than is meant to differ.
void check_alike(const RunComparisonReport& report, std::span<const std::string> varied) {
  std::string unlike;
  for (const EnvironmentDifference& difference : report.environment_diff) {
    if (difference.identity && !is_varied(difference.name, varied)) {
      unlike += fmt::format(
          "\n  {}: '{}' and '{}'", difference.name, difference.baseline, difference.candidate);
    }
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                "the runs were measured in unlike environments:" + unlike +
                    "\nname what differs on purpose: --vary stack, --vary driver, --vary FACT");
  }
  const RunHeader& left = report.baseline.header;
  const RunHeader& right = report.candidate.header;
  if (left.suite_hash != right.suite_hash && !is_varied("suite", varied)) {
    throw Error(Error::Kind::kRefused,
                fmt::format("the runs are of different suites: '{}' ({:.12}) and '{}' ({:.12}); "
                            "--vary suite compares what both have",
                            left.suite,
                            left.suite_hash,
                            right.suite,
                            right.suite_hash));
  }
}

std::vector<ModelBounds> bounds_in(const RunReport& report) {
  std::vector<ModelBounds> bounds;
  for (const ModelReport& model : report.models) {
    bounds.push_back(model.bounds);
  }
  return bounds;
}

ComparisonVerdict compare_stored(const CompareOptions& options,
                                 const std::string& store_url,
                                 Style style) {
  const auto store = open_store(store_url);
  RunComparisonReport report;
  report.baseline = store->find_run(options.baseline);
  report.candidate = store->find_run(options.candidate);
  report.environment_diff =
      environment_diff(report.baseline.header.environment, report.candidate.header.environment);
  check_alike(report, options.varied);
  const RunReport left = analyze_run(*store, report.baseline, {});
  const RunReport right = analyze_run(*store, report.candidate, {});
  const ResultSet left_results(left.rows, left.calibration);
  const ResultSet right_results(right.rows, right.calibration);
  const std::vector<ModelBounds> left_bounds = bounds_in(left);
  const std::vector<ModelBounds> right_bounds = bounds_in(right);
  report.comparison =
      compare_runs({left_results, left_bounds}, {right_results, right_bounds}, options.limits);
  write_run_comparison(report, style, std::cout);
  return report.comparison.verdict;
}

}  // namespace

void add_compare(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* const command =
      app.add_subcommand("compare", "say what changed between two runs, by how much and why");
  CLI::Option* const baseline =
      command->add_option("BASE", options->baseline, "a run: id, unique prefix, tag or @latest");
  CLI::Option* const candidate =
      command->add_option("CAND", options->candidate, "the run that is compared with it");
  baseline->needs(candidate);
  command->add_option(
      "--vary",
      options->varied,
      "what differs on purpose: stack, driver, suite, or a fact's name; may be repeated");
  command
      ->add_option(
          "--samples",
          options->samples,
          "a JSON file of paired rounds in seconds: {\"comparisons\":[{\"id\",\"end_to_end\":"
          "{\"baseline\":[…],\"candidate\":[…]},\"layers\":{\"NAME\":{…}}}]}")
      ->excludes(baseline);
  command->add_flag(
      "--gate",
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
    if (options->samples.empty() && options->candidate.empty()) {
      throw Error(Error::Kind::kUser, "name two runs, or a file: plumb compare --samples FILE");
    }
    const Style style = context.json ? Style::kJson : Style::kText;
    const std::vector<ComparisonVerdict> verdicts =
        options->samples.empty() ? std::vector{compare_stored(*options, context.store_url, style)}
                                 : compare_samples(*options, style);
    if (options->gate) {
      context.exit_status = gate_status(verdicts);
    }
  });
}

}  // namespace plumb
