// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/baseline_check.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/named_runs.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_history.hpp"
#include "harness/session/stored/stored_triage.hpp"
#include "harness/session/study/paired_studies.hpp"
#include "harness/session/study/sample_file.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/content/comparison/change_documents.hpp"
#include "reporting/content/comparison/comparison_report.hpp"
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
  for (const analysis::PairedComparison::Question& question :
       session::read_paired_samples(options.samples)) {
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
  const session::SessionContext::Archive archive{*store, context.models};
  const bool boots = session::names_several_runs(options.baseline) ||
                     session::names_several_runs(options.candidate);
  if (boots && options.profile) {
    throw Error(Error::Kind::kUser, "--profile takes one run of each side");
  }
  analysis::ComparisonReport report =
      boots ? session::compare_stored_boots(
                  archive, options.baseline, options.candidate, options.varied, options.limits)
            : session::compare_stored_runs(
                  archive, options.baseline, options.candidate, options.varied, options.limits);
  if (options.profile) {
    const session::PairedProfiles::Outcome profiles =
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

namespace {

/// A state that a person may give to a change, with its option and help text.
struct Decision {
  analysis::SeriesChange::State state;
  const char* option;
  const char* help;
};
constexpr std::array kDecisions{
    Decision{analysis::SeriesChange::State::kConfirmed,
             "--confirm",
             "a comparison confirmed this change"},
    Decision{analysis::SeriesChange::State::kAccepted,
             "--accept",
             "the new level is the baseline from here on"},
    Decision{analysis::SeriesChange::State::kInvalid, "--invalid", "this was noise"},
    Decision{analysis::SeriesChange::State::kEnvironment,
             "--environment",
             "the machine changed, not what is measured"},
    Decision{analysis::SeriesChange::State::kFixed, "--fixed", "this was repaired"}};

struct DetectOptions {
  session::HistoryQuery query;
  std::string input;
  std::array<std::vector<std::string>, kDecisions.size()> decisions;
  std::string reason;
  std::string annotated;
  bool variance = false;  ///< also changes of the scatter
  bool look_only = false;
  bool gate = false;
};

reporting::HistoryReport::Detected detect_in(const session::AnnotatedSet::NamedSeries& series,
                                             bool variance) {
  try {
    return {series.id, stats::detect_changes(series.values, variance)};
  } catch (const Error& error) {
    throw Error(error.kind(), "series '" + series.id + "': " + error.what());
  }
}

void detect_in_file(const DetectOptions& options, reporting::OutputMode style) {
  std::vector<reporting::HistoryReport::Detected> found;
  for (const session::AnnotatedSet::NamedSeries& series : session::read_series(options.input)) {
    found.push_back(detect_in(series, options.variance));
  }
  reporting::write_detections(found, style, std::cout);
}

void evaluate(const std::string& file, reporting::OutputMode style) {
  session::AnnotatedSet set = session::read_annotated_series(file);
  reporting::HistoryReport::Evaluation evaluation;
  evaluation.skipped = std::move(set.skipped);
  for (const session::AnnotatedSet::Series& entry : set.series) {
    if (entry.series.values.empty()) {
      evaluation.skipped.push_back(entry.series.id);
      continue;
    }
    reporting::HistoryReport::Evaluation::Series row;
    row.id = entry.series.id;
    row.annotators = entry.annotators.size();
    for (const stats::ChangePoint& point : detect_in(entry.series, {}).detection.change_points) {
      row.found.push_back(point.index);
    }
    const std::size_t length = entry.series.values.size();
    row.score = stats::score_segmentation(entry.annotators, row.found, length);
    row.nothing = stats::score_segmentation(entry.annotators, {}, length);
    evaluation.series.push_back(std::move(row));
  }
  reporting::write_evaluation(evaluation, style, std::cout);
}

/// Returns the command that measures once more what a run did: its suite or models, on its stack.
std::string measure_again(const results::RunHeader& newest) {
  std::vector<std::string> words;
  for (const std::string& word : newest.command) {
    if (!word.empty()) {  // a run of models has no suite
      words.push_back(word);
    }
  }
  if (words.size() > 1 && words[1] == "run") {
    if (newest.stack != "default") {
      words.insert(words.end(), {"--stack", newest.stack});
    }
    const auto threads = newest.environment.identity.find("threads");
    if (threads != newest.environment.identity.end() && threads->second != "1") {
      words.insert(words.end(), {"--threads", threads->second});
    }
    if (const std::string device = session::device_of(newest); !device.empty()) {
      words.insert(words.end(), {"--device", device});
    }
    words.insert(words.end(), {"--reuse", "never"});
  }
  return shell_command(words);
}

std::vector<analysis::SeriesFinding> judge(const analysis::SuiteHistory& history,
                                           std::span<const analysis::SeriesChange::Record> book,
                                           bool variance) {
  std::vector<analysis::SeriesFinding> findings;
  for (const analysis::SuiteHistory::Series& series : history.series) {
    findings.push_back(analysis::judge_series(series, book, variance));
  }
  return findings;
}

int detection_status(std::span<const analysis::SeriesFinding> findings) {
  bool suspicious = false;
  for (const analysis::SeriesFinding& finding : findings) {
    if (finding.creep || std::any_of(finding.changes.begin(),
                                     finding.changes.end(),
                                     [](const auto& change) { return change.is_open(); })) {
      return 1;
    }
    if (finding.variance_changes && !finding.variance_changes->empty() &&
        finding.variance_changes->back().after > finding.variance_changes->back().before) {
      return 1;
    }
    suspicious =
        suspicious || std::any_of(finding.changes.begin(),
                                  finding.changes.end(),
                                  [](const auto& change) { return change.is_undecided(); });
    for (const analysis::SeriesFinding::Suspicion& suspicion : finding.suspicions) {
      suspicious = suspicious || suspicion.after > suspicion.before;
    }
  }
  return suspicious ? static_cast<int>(Error::Kind::kTryAgain) : 0;
}

void detect_in_store(CommandContext& context,
                     const DetectOptions& options,
                     reporting::OutputMode style) {
  const auto store = store::open_store(context.store_url());
  analysis::SuiteHistory history = session::read_history(*store, options.query);
  const results::RunHeader& newest = history.runs.back().header;
  std::vector<analysis::SeriesChange::Record> book = session::read_changes(*store, history.runs);
  std::vector<analysis::SeriesFinding> findings = judge(history, book, options.variance);
  std::vector<analysis::SeriesChange::Record> entries;
  for (std::size_t i = 0; i < kDecisions.size(); ++i) {
    for (const std::string& text : options.decisions.at(i)) {
      for (analysis::SeriesChange::Record& entry : session::named_changes(*store, findings, text)) {
        entry.state = kDecisions.at(i).state;
        entry.reason = options.reason;
        entries.push_back(std::move(entry));
      }
    }
  }
  if (!entries.empty()) {
    if (options.reason.empty()) {
      throw Error(Error::Kind::kUser,
                  "the decision needs a reason, which is stored with it: add --reason TEXT");
    }
    session::enter_changes(*store, entries, newest.id);
    book.insert(book.end(), entries.begin(), entries.end());
    findings = judge(history, book, options.variance);
  }
  if (!options.look_only) {
    for (const analysis::SeriesFinding& finding : findings) {
      session::enter_changes(*store, finding.news, newest.id);
    }
  }
  const int status = detection_status(findings);
  const std::string again = measure_again(newest);
  reporting::write_history(
      {std::move(history), std::move(findings), again, context.commits()}, style, std::cout);
  if (options.gate) {
    context.exit_status = status;
  }
}

}  // namespace

void add_detect(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<DetectOptions>();
  CLI::App* const command =
      app.add_subcommand("detect", "change points over the history of each series");
  CLI::Option* const series = command->add_option(
      "SERIES",
      options->query.series,
      "ids, beginnings of ids, or layer keys; default: all series of the newest run");
  CLI::Option* const input =
      command
          ->add_option(
              "--input",
              options->input,
              "a JSON file with series from elsewhere: {\"series\":[{\"id\",\"values\":[…]}]}")
          ->excludes(series);
  CLI::Option* const annotated =
      command
          ->add_option("--evaluate",
                       options->annotated,
                       "score the detector on this JSON file: series with the changes that people "
                       "marked, or annotations.json of the Turing Change Point Dataset")
          ->excludes(series)
          ->excludes(input);
  command->add_flag("--variance",
                    options->variance,
                    "also find changes of the deviation; with --gate, a rise exits 1");
  command
      ->add_option(
          "--suite", options->query.suite, "only series of this suite; default: the newest run's")
      ->excludes(input)
      ->excludes(annotated);
  command
      ->add_option(
          "--stack", options->query.stack, "only series of this stack; default: the newest run's")
      ->excludes(input)
      ->excludes(annotated);
  for (std::size_t i = 0; i < kDecisions.size(); ++i) {
    command
        ->add_option(kDecisions.at(i).option,
                     options->decisions.at(i),
                     fmt::format("SERIES@RUN or @RUN: {}; needs --reason", kDecisions.at(i).help))
        ->excludes(input)
        ->excludes(annotated);
  }
  command->add_option(
      "--reason", options->reason, "reason of the decision, which is stored with it");
  command->add_flag("--look-only", options->look_only, "do not store newly found changes");
  command
      ->add_flag("--gate",
                 options->gate,
                 "exit 1 for an open slow-down or creep, else 75 for an early one or a suspicion")
      ->excludes(input)
      ->excludes(annotated);
  command->callback([&context, options] {
    const reporting::OutputMode style = context.output_mode();
    if (!options->annotated.empty()) {
      evaluate(options->annotated, style);
    } else if (!options->input.empty()) {
      detect_in_file(*options, style);
    } else {
      detect_in_store(context, *options, style);
    }
  });
}

}  // namespace plumb::cli
