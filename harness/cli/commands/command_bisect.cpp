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
#include "harness/suite/suite.hpp"
#include "reporting/content/comparison/bisection.hpp"

namespace plumb::cli {
namespace {

struct BisectOptions {
  std::string what;
  SuiteChoice choice;  ///< without its suite, which is in `what`
  std::string good;
  std::string bad;
  std::vector<std::string> stacks;
  std::string repository;  ///< empty: stacks are searched
  std::string build;
  std::string stack_folder = "build";
  std::string build_timeout = "2h";
  std::size_t keep_builds = 16;
  session::BisectionOptions search;
  std::string row_timeout = "60s";
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
  if (options.repository.empty()) {
    export_models(choice, {options.good, options.bad}, context.stop);
  }
  return session::question_of_suite(
      context.models, options.what, chosen_suite(context.models, choice), model);
}

std::unique_ptr<session::CandidateSource> source_of(const BisectOptions& options,
                                                    const std::atomic<bool>& stop) {
  if (options.repository.empty()) {
    return std::make_unique<session::StackCandidates>(
        options.good, options.bad, options.stacks, options.search.threads, options.search.device);
  }
  return std::make_unique<session::CommitCandidates>(
      session::CommitCandidates::Options{
          .repository = options.repository,
          .good = options.good,
          .bad = options.bad,
          .recipe = {.command = options.build,
                     .stack_folder = options.stack_folder,
                     .time_limit = suite::parse_duration(options.build_timeout)},
          .keep_builds = options.keep_builds},
      stop);
}

std::vector<std::string> command_of(const BisectOptions& options) {
  std::vector<std::string> command{"plumb", "bisect"};
  const auto add = [&](const char* name, const std::string& value) {
    command.insert(command.end(), {name, value});
  };
  if (!options.repository.empty()) {
    add("--git", options.repository);
    add("--build", options.build);
    add("--stack-folder", options.stack_folder);
  }
  add("--good", options.good);
  add("--bad", options.bad);
  if (!options.search.device.empty()) {
    add("--device", options.search.device);
  }
  const std::vector<std::string> chosen = words_of(options.choice);
  command.insert(command.end(), chosen.begin() + 1, chosen.end());
  add("--", options.what);
  return command;
}

void run_bisection(CommandContext& context, BisectOptions options) {
  options.search.row_timeout = suite::parse_duration(options.row_timeout);
  options.search.command = command_of(options);
  const session::BisectionQuestion question = question_of(context, options);
  const auto store = store::open_store(context.store_url(), CommandContext::for_runs());
  const std::unique_ptr<session::CandidateSource> source = source_of(options, context.stop);
  const analysis::Bisection bisection =
      session::bisect(context.session(*store), *source, question, options.search);
  reporting::write_bisection(
      bisection,
      context.json ? reporting::OutputMode::kJson : reporting::OutputMode::kText,
      std::cout);
  if (bisection.undecided()) {
    context.exit_status = static_cast<int>(Error::Kind::kTryAgain);
  }
}

/// Adds the options that search commits in place of stacks.
void add_git_options(CLI::App& command, BisectOptions& options) {
  CLI::Option* const git =
      command.add_option("--git",
                         options.repository,
                         "search the commits of this git repository, along first parents");
  CLI::Option* const build =
      command
          .add_option("--build",
                      options.build,
                      "command that builds a commit, such as 'make -j8'; sh runs it in a worktree "
                      "below the user's cache folder")
          ->needs(git);
  git->needs(build);
  command
      .add_option("--stack-folder",
                  options.stack_folder,
                  "where the build leaves the stack, relative to the worktree: a folder with a "
                  "stack.toml or the library")
      ->needs(git)
      ->capture_default_str();
  command
      .add_option(
          "--build-timeout", options.build_timeout, "how long the build of a commit may take")
      ->needs(git)
      ->capture_default_str();
  command
      .add_option("--keep-builds",
                  options.keep_builds,
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
                   options->good,
                   "a stack on which all is well, or with --git a commit, the older one")
      ->required();
  command->add_option("--bad", options->bad, "a stack or commit that is slower, or broken")
      ->required();
  CLI::Option* const stack = command->add_option(
      "--stack",
      options->stacks,
      "a stack to search between these two; may be repeated; default: all stacks of the backend");
  add_git_options(*command, *options);
  stack->excludes("--git");
  command
      ->add_option("--pairs",
                   options->search.pairs,
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
  command->add_option("--threads", options->search.threads, "threads of the workers")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  add_device_option(*command, options->search.device);
  command->add_option("--row-timeout", options->row_timeout, "how long a worker may be silent")
      ->capture_default_str();
  command->callback([&context, options] { run_bisection(context, *options); });
}

}  // namespace plumb::cli
