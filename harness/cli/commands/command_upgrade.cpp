// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/session/bisect/bisection_session.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/study/criteria_file.hpp"
#include "harness/session/study/qualification_session.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/content/comparison/change_documents.hpp"
#include "reporting/content/qualification/qualification_report.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::cli {
namespace {

struct QualifyOptions {
  SuiteChoice choice;
  std::string criteria;
  std::string budget;
  std::string profile_budget = "2m";
  std::string only;
  std::vector<std::string> outputs;
  std::vector<std::string> labels;
  std::vector<std::string> modes;
  session::UpgradeTest::Options upgrade;
  bool gate = false;
};

int gate_status(analysis::QualificationVerdict verdict) {
  switch (verdict) {
    case analysis::QualificationVerdict::kReject:
      return 1;
    case analysis::QualificationVerdict::kNotEnoughEvidence:
      return static_cast<int>(Error::Kind::kTryAgain);
    case analysis::QualificationVerdict::kApprove:
    case analysis::QualificationVerdict::kApproveWithExceptions:
      break;
  }
  return 0;
}

std::vector<std::string> command_of(const QualifyOptions& options) {
  std::vector<std::string> command{"plumb",
                                   "qualify",
                                   "--baseline",
                                   options.upgrade.baseline,
                                   "--candidate",
                                   options.upgrade.candidate,
                                   "--pairs",
                                   std::to_string(options.upgrade.paired.pairs),
                                   "--threads",
                                   std::to_string(options.upgrade.paired.worker.threads)};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) {
      command.insert(command.end(), {name, value});
    }
  };
  add("--criteria", options.criteria);
  add("--budget", options.budget);
  add("--only", options.only);
  for (const std::string& mode : options.modes) {
    add("--mode", mode);
  }
  add("--device", options.upgrade.paired.worker.device);
  const std::vector<std::string> chosen = words_of(options.choice);
  command.insert(
      command.begin() + 2, chosen.begin() + (chosen.front().empty() ? 1 : 0), chosen.end());
  return command;
}

std::vector<results::ExecutionMode> modes_in(const QualifyOptions& options) {
  if (options.only == "layers") {
    return {};
  }
  std::vector<results::ExecutionMode> modes;
  for (const std::string& text : options.modes) {
    modes.push_back(results::execution_mode_from(text));
    if (modes.back().best_variant) {
      throw Error(Error::Kind::kUser,
                  fmt::format("--mode {}: a qualification has no times by which best_variant could "
                              "choose; name another mode",
                              text));
    }
  }
  return modes.empty() ? session::default_paired_modes() : modes;
}

void qualify(CommandContext& context, QualifyOptions options) {
  analysis::Qualification::Criteria criteria;
  if (!options.criteria.empty()) {
    criteria = session::read_criteria(options.criteria, to_text(current_time()).substr(0, 10));
  }
  if (!options.budget.empty()) {
    options.upgrade.paired.budget = suite::parse_duration(options.budget);
  }
  options.upgrade.profile_budget =
      options.profile_budget == "0" ? std::nullopt
                                    : std::optional(suite::parse_duration(options.profile_budget));
  options.upgrade.paired.modes = modes_in(options);
  options.upgrade.layers = options.only != "models";
  options.upgrade.paired.command = command_of(options);
  options.upgrade.labels = labels_of_run(options.labels);
  export_models(
      options.choice, {options.upgrade.baseline, options.upgrade.candidate}, context.stop);
  suite::ResolvedSuite suite = chosen_suite(context.models, options.choice);
  const std::string today = to_text(current_time()).substr(0, 10);
  for (const results::Exclusion& each : suite.exclusions) {
    criteria.waivers.push_back({.match = each.match,
                                .reason = each.reason,
                                .who = each.who.empty() ? "suite " + suite.name : each.who,
                                .expires = each.until,
                                .expired = !each.holds_on(today)});
  }
  const std::size_t wanted = suite.models.size();
  const std::vector<session::PlannedModel> models = session::prepare_models(context.models, suite);
  const auto store = store::open_store(context.store_url(), CommandContext::for_runs());
  const session::UpgradeTest outcome =
      session::test_upgrade(context.session(*store), suite, models, criteria, options.upgrade);
  const analysis::Qualification& qualification = outcome.qualification;
  const analysis::QualificationReport report = session::with_history(*store, qualification);
  reporting::write_reports(
      report, reporting::qualification_formats(), options.outputs, terminal::announce_report);
  reporting::write_qualification(report, context.output_mode(), std::cout);
  if (!outcome.stacks_unchanged) {
    context.exit_status = static_cast<int>(Error::Kind::kEnvironment);
  } else if (options.gate) {
    context.exit_status = gate_status(qualification.verdict);
  }
  if (context.exit_status == 0 && models.size() < wanted) {
    context.exit_status = static_cast<int>(Error::Kind::kUser);
  }
}

}  // namespace

void add_qualify(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<QualifyOptions>();
  CLI::App* const command = app.add_subcommand(
      "qualify", "measure two stacks in turns and say whether the upgrade is safe, and why");
  add_suite_choice(*command, options->choice);
  command->add_option("--baseline", options->upgrade.baseline, "the stack in use")->required();
  command->add_option("--candidate", options->upgrade.candidate, "the stack to change to")
      ->required();
  command->add_option(
      "--criteria",
      options->criteria,
      "a TOML file with the criteria for the upgrade (docs/guides/qualify-an-upgrade.md)");
  command
      ->add_option("--pairs",
                   options->upgrade.paired.pairs,
                   "pairs of restarted processes, at most; fewer if everything is decided earlier")
      ->check(CLI::Range(analysis::kMinDesign, std::size_t{200}))
      ->capture_default_str();
  command->add_option("--budget", options->budget, "no pair starts after this time, such as 30m");
  command->add_option("--mode",
                      options->modes,
                      "how models are executed end to end, as in plumb run; may be repeated; "
                      "default: plain and fusion");
  command
      ->add_option("--only",
                   options->only,
                   "layers: do not measure models end to end; models: measure nothing else")
      ->check(CLI::IsMember({"layers", "models"}));
  command
      ->add_option("--profile-budget",
                   options->profile_budget,
                   "time to profile what changed, on both sides together; 0: none")
      ->capture_default_str();
  add_label_option(*command, options->labels);
  add_worker_options(*command, options->upgrade.paired.worker);
  add_row_timeout(*command, options->upgrade.paired.row_timeout);
  command
      ->add_option("-o,--output",
                   options->outputs,
                   "also write the report here: " +
                       reporting::format_list(reporting::qualification_formats()))
      ->each(reporting::check_format(reporting::qualification_formats()));
  command->add_flag("--gate",
                    options->gate,
                    "exit 1 if the upgrade is rejected, 75 if the evidence is not enough");
  command->callback([&context, options] { qualify(context, *options); });
}

namespace {

struct BisectOptions {
  std::string what;
  SuiteChoice choice;                         ///< without its suite, which is in `what`
  session::CandidateSource::Commits commits;  ///< without a repository: the ends are stacks
  std::vector<std::string> stacks;
  session::BisectionQuestion::Options search;
};

bool is_key(const std::string& what) {
  return what.find(';') != std::string::npos;
}

/// Returns whether a text names a model: a file, or a built-in one. A suite of that name is
/// reached by its path.
bool is_model(const session::ModelSource& models, const std::string& what) {
  if (std::filesystem::path(what).extension() == ".onnx" || session::parse_model_code(what)) {
    return true;
  }
  if (what.find('/') != std::string::npos || what.ends_with(".toml")) {
    return false;
  }
  try {
    static_cast<void>(models.axes(what, {}));
    return true;
  } catch (const Error&) {
    return false;
  }
}

session::BisectionQuestion question_of(const CommandContext& context,
                                       const BisectOptions& options) {
  if (is_key(options.what)) {
    return session::question_of_layer(options.what);
  }
  SuiteChoice choice = options.choice;
  const bool model = is_model(context.models, options.what);
  if (model) {
    choice.models.insert(choice.models.begin(), options.what);
  } else {
    choice.suite = options.what;
  }
  if (options.commits.repository.empty()) {
    export_models(choice, {options.commits.good, options.commits.bad}, context.stop);
  }
  return session::question_of_suite(
      context.models, options.what, chosen_suite(context.models, choice), model);
}

std::unique_ptr<session::CandidateSource> source_of(const BisectOptions& options,
                                                    const std::atomic<bool>& stop) {
  const session::CandidateSource::Commits& commits = options.commits;
  if (commits.repository.empty()) {
    const session::WorkerChoice& worker = options.search.paired.worker;
    return session::stack_candidates(
        commits.good, commits.bad, options.stacks, worker.threads, worker.device);
  }
  return session::commit_candidates(commits, stop);
}

std::vector<std::string> command_of(const BisectOptions& options) {
  std::vector<std::string> command{"plumb", "bisect"};
  const auto add = [&](const char* name, const std::string& value) {
    command.insert(command.end(), {name, value});
  };
  const session::CandidateSource::Commits& commits = options.commits;
  if (!commits.repository.empty()) {
    add("--git", commits.repository.string());
    add("--build", commits.recipe.command);
    add("--stack-folder", commits.recipe.stack_folder.string());
  }
  add("--good", commits.good);
  add("--bad", commits.bad);
  if (const std::string& device = options.search.paired.worker.device; !device.empty()) {
    add("--device", device);
  }
  const std::vector<std::string> chosen = words_of(options.choice);
  command.insert(command.end(), chosen.begin() + 1, chosen.end());
  add("--", options.what);
  return command;
}

void run_bisection(CommandContext& context, BisectOptions options) {
  options.search.paired.command = command_of(options);
  const session::BisectionQuestion question = question_of(context, options);
  const auto store = store::open_store(context.store_url(), CommandContext::for_runs());
  const std::unique_ptr<session::CandidateSource> source = source_of(options, context.stop);
  const analysis::Bisection bisection =
      session::bisect(context.session(*store), *source, question, options.search);
  reporting::write_bisection(bisection, context.output_mode(), std::cout);
  if (bisection.undecided()) {
    context.exit_status = static_cast<int>(Error::Kind::kTryAgain);
  }
}

/// Adds the options that search commits in place of stacks.
void add_git_options(CLI::App& command, session::CandidateSource::Commits& commits) {
  commits.recipe.stack_folder = "build";
  CLI::Option* const git =
      command.add_option("--git",
                         commits.repository,
                         "search the commits of this git repository, along first parents");
  CLI::Option* const build =
      command
          .add_option("--build",
                      commits.recipe.command,
                      "command that builds a commit, such as 'make -j8'; sh runs it in a worktree "
                      "below the user's cache folder")
          ->needs(git);
  git->needs(build);
  command
      .add_option("--stack-folder",
                  commits.recipe.stack_folder,
                  "where the build leaves the stack, relative to the worktree: a folder with a "
                  "stack.toml or the library")
      ->needs(git)
      ->default_str(commits.recipe.stack_folder.string());
  add_duration_option(command,
                      "--build-timeout",
                      commits.recipe.time_limit,
                      "2h",
                      "how long the build of a commit may take")
      ->needs(git);
  command
      .add_option("--keep-builds",
                  commits.keep_builds,
                  "builds to keep in the cache for later; those in use stay anyway")
      ->needs(git)
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
      ->capture_default_str();
}

}  // namespace

void add_bisect(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<BisectOptions>();
  CLI::App* const command = app.add_subcommand(
      "bisect",
      "find the first of several stacks or commits on which a layer or a model is slower, or "
      "broken");
  command
      ->add_option(
          "WHAT",
          options->what,
          "a layer key, quoted: 'v1:conv;in=…'; a model: a built-in name or an .onnx file; "
          "or a suite, of which the largest slow-down is searched for")
      ->required();
  add_model_choice(*command, options->choice);
  command
      ->add_option("--good",
                   options->commits.good,
                   "a stack on which all is well, or with --git a commit, the older one")
      ->required();
  command->add_option("--bad", options->commits.bad, "a stack or commit that is slower, or broken")
      ->required();
  CLI::Option* const stack = command->add_option(
      "--stack",
      options->stacks,
      "a stack to search between these two; may be repeated; default: all stacks of the backend");
  add_git_options(*command, options->commits);
  stack->excludes("--git");
  command
      ->add_option("--pairs",
                   options->search.paired.pairs,
                   "pairs of restarted processes for each stack or commit, fewer if they decide "
                   "earlier, and up to 4 times as many if they decide nothing")
      ->check(CLI::Range(analysis::kMinDesign, std::size_t{200}))
      ->capture_default_str();
  command
      ->add_option("--control-drift",
                   options->search.drift,
                   "largest relative difference of a control within a pair that counts")
      ->check(CLI::Range(1e-6, 1000.0))
      ->capture_default_str();
  command->add_flag("--resume",
                    options->search.resume,
                    "continue the unfinished search for the same, if there is one");
  add_worker_options(*command, options->search.paired.worker);
  add_row_timeout(*command, options->search.paired.row_timeout);
  command->callback([&context, options] { run_bisection(context, *options); });
}

}  // namespace plumb::cli
