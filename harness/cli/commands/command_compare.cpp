// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/gate.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/session/stored/named_runs.hpp"
#include "harness/session/stored/stored_boots.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/study/compared_profiles.hpp"
#include "harness/session/study/sample_file.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/comparison/change_documents.hpp"
#include "reporting/content/comparison/comparison_report.hpp"
#include "reporting/content/comparison/paired_report.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::cli {
namespace {

struct CompareOptions {
  std::string baseline;
  std::string candidate;
  std::vector<std::string> varied;
  std::string samples;
  std::vector<std::string> outputs;
  bool gate = false;
  bool sequential = false;
  bool profile = false;
  Seconds profile_budget{};
  analysis::ComparisonLimits limits;
};

/// Compares the paired rounds of a file and writes the reports. Returns one verdict for each
/// question.
std::vector<analysis::ComparisonVerdict> compare_samples(const CompareOptions& options,
                                                         reporting::OutputMode style) {
  reporting::PairedReport report{.file = options.samples,
                                 .limits = options.limits,
                                 .sequential = options.sequential,
                                 .answers = {}};
  const analysis::SequentialRule rule;
  std::vector<analysis::ComparisonVerdict> verdicts;
  for (const analysis::PairedQuestion& question : session::read_paired_samples(options.samples)) {
    report.answers.push_back(
        options.sequential ? analysis::compare_pairs_in_sequence(question, options.limits, rule)
                           : analysis::compare_pairs(question, options.limits));
    verdicts.push_back(report.answers.back().verdict);
  }
  reporting::write_comparisons(report.answers, style, std::cout);
  reporting::write_reports(
      report, reporting::paired_formats(), options.outputs, terminal::announce_report);
  return verdicts;
}

analysis::ComparisonVerdict compare_stored(CommandContext& context,
                                           const CompareOptions& options,
                                           reporting::OutputMode style) {
  const auto store = store::open_store(context.store_url());
  const session::Archive archive{*store, context.models};
  const bool boots = session::names_several_runs(options.baseline) ||
                     session::names_several_runs(options.candidate);
  if (boots && options.profile) {
    throw Error(Error::Kind::kUser, "--profile takes one run of each side");
  }
  analysis::RunComparisonReport report =
      boots ? session::compare_stored_boots(
                  archive, options.baseline, options.candidate, options.varied, options.limits)
            : session::compare_stored_runs(
                  archive, options.baseline, options.candidate, options.varied, options.limits);
  if (options.profile) {
    const session::ComparedProfiles profiles =
        session::profile_comparison(context.session(*store), report, options.profile_budget);
    for (const std::string& problem : profiles.problems) {
      terminal::say(problem);
    }
    if (profiles.models > 0) {
      report = session::compare_stored_runs(
          archive, options.baseline, options.candidate, options.varied, options.limits);
    }
  }
  if (boots) {
    report.source = reporting::boot_source(report);
  }
  report.commits = context.commits();
  reporting::write_run_comparison(report, style, std::cout);
  reporting::write_reports(
      report, reporting::comparison_formats(), options.outputs, terminal::announce_report);
  if (!boots) {
    session::store_comparison(*store, report);
  }
  return report.comparison.verdict;
}

}  // namespace

void add_compare(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* const command =
      app.add_subcommand("compare", "say what changed between two runs, by how much and why");
  CLI::Option* const baseline = command->add_option(
      "BASE",
      options->baseline,
      "a run: id, unique prefix, tag or @latest; several, one boot each: A,B,C or TAG/*");
  CLI::Option* const candidate = command->add_option(
      "CAND", options->candidate, "the run to compare with it, named in the same way");
  baseline->needs(candidate);
  command->add_option(
      "--vary",
      options->varied,
      "what differs on purpose: stack, driver, suite, or a fact's name; may be repeated");
  CLI::Option* const samples =
      command
          ->add_option("--samples",
                       options->samples,
                       "a JSON file of paired rounds in seconds: {\"comparisons\": [{\"id\", "
                       "\"end_to_end\": "
                       "{\"baseline\": […], \"candidate\": […]}, \"layers\": {\"NAME\": {…}}}]}")
          ->excludes(baseline);
  command
      ->add_option("-o,--output",
                   options->outputs,
                   "also write this report; may be repeated: " +
                       reporting::format_list(reporting::comparison_formats()))
      ->each(reporting::check_format(reporting::comparison_formats()));
  command
      ->add_flag(
          "--sequential",
          options->sequential,
          "judge the pairs in their order by the sequential rule of plumb qualify, 20 at most")
      ->needs(samples);
  CLI::Option* const profile =
      command
          ->add_flag("--profile",
                     options->profile,
                     "profile what changed now, under the stacks of both runs in turns, and name "
                     "functions")
          ->excludes(samples);
  add_duration_option(*command,
                      "--profile-budget",
                      options->profile_budget,
                      "2m",
                      "time of these profiles, of both sides together")
      ->needs(profile);
  command->add_flag(
      "--gate",
      options->gate,
      "exit 1 if something is broken or regressed, else 75 if something is inconclusive");
  analysis::ComparisonLimits& limits = options->limits;
  const CLI::Range share(1e-6, 0.5);
  const CLI::Range floor(0.0, 10.0);
  command->add_option("--alpha", limits.alpha, "rate of false alarms of the end-to-end test")
      ->check(share)
      ->capture_default_str();
  command
      ->add_option(
          "--fdr", limits.false_discovery_rate, "rate of false discoveries among the layers")
      ->check(share)
      ->capture_default_str();
  command
      ->add_option("--floor",
                   limits.end_to_end_floor,
                   "smaller relative changes end to end count as no change")
      ->check(floor)
      ->capture_default_str();
  command
      ->add_option("--layer-floor",
                   limits.layer_floor,
                   "smaller relative changes of a layer count as no change")
      ->check(floor)
      ->capture_default_str();
  command->callback([&context, options] {
    if (options->samples.empty() && options->candidate.empty()) {
      throw Error(Error::Kind::kUser, "name two runs, or a file: plumb compare --samples FILE");
    }
    const reporting::OutputMode style = context.output_mode();
    const std::vector<analysis::ComparisonVerdict> verdicts =
        options->samples.empty() ? std::vector{compare_stored(context, *options, style)}
                                 : compare_samples(*options, style);
    if (options->gate) {
      context.exit_status = gate_status(verdicts);
    }
  });
}

}  // namespace plumb::cli
