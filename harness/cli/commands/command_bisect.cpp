// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "harness/analysis/compare/rounds/sequential_comparison.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/option_checks.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/session/bisect/bisection_session.hpp"
#include "harness/session/bisect/commit_candidates.hpp"
#include "harness/session/bisect/stack_candidates.hpp"
#include "reporting/content/comparison/bisection.hpp"

namespace plumb::cli {
namespace {

struct BisectOptions {
  std::string what;
  SuiteChoice choice;                          ///< without its suite, which is in `what`
  session::CommitCandidates::Options commits;  ///< without a repository: the ends are stacks
  std::vector<std::string> stacks;
  session::BisectionOptions search;
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
  const session::CommitCandidates::Options& commits = options.commits;
  if (commits.repository.empty()) {
    const session::WorkerChoice& worker = options.search.paired.worker;
    return std::make_unique<session::StackCandidates>(
        commits.good, commits.bad, options.stacks, worker.threads, worker.device);
  }
  return std::make_unique<session::CommitCandidates>(commits, stop);
}

std::vector<std::string> command_of(const BisectOptions& options) {
  std::vector<std::string> command{"plumb", "bisect"};
  const auto add = [&](const char* name, const std::string& value) {
    command.insert(command.end(), {name, value});
  };
  const session::CommitCandidates::Options& commits = options.commits;
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
void add_git_options(CLI::App& command, session::CommitCandidates::Options& commits) {
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
