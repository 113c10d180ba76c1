// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/whole_file.hpp"
#include "harness/cli/command.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/stored_triage.hpp"
#include "harness/stacks/built/git_repository.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/review/regression_issue.hpp"

namespace plumb::cli {
namespace {

/// Lists the commits between two runs. That they are not known is no error: a CI's checkout often
/// lacks them, and the issue is wanted all the same.
reporting::SuspectCommits list_commits(const stacks::GitRepository& repository,
                                       const analysis::ChangeEvidence& change) {
  constexpr std::size_t kMaxListed = 20;
  const std::string before = results::commit_of(change.before.environment);
  const std::string after = results::commit_of(change.after.environment);
  reporting::SuspectCommits between;
  if (!results::is_commit_hash(before) || !results::is_commit_hash(after)) {
    between.problem = fmt::format(
        "the two runs are of the commits '{}' and '{}', which are no hashes", before, after);
    return between;
  }
  try {
    stacks::GitRepository::Range range = repository.commits_between(before, after, kMaxListed);
    between.count = range.count;
    for (stacks::Commit& commit : range.newest) {
      between.newest.push_back({std::move(commit.hash), std::move(commit.subject)});
    }
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::kUser) {
      throw;
    }
    between.problem = error.what();
  }
  return between;
}

reporting::RegressionIssue read_issue(const CommandContext& context,
                                      const std::string& change,
                                      const std::string& repository) {
  const auto store = store::open_store(context.store_url());
  reporting::RegressionIssue issue{.changes = session::read_change_evidence(*store, change),
                                   .commands = {},
                                   .commits = context.commits(),
                                   .between = {}};
  if (issue.changes.empty()) {
    throw Error(Error::Kind::kUser,
                "'" + change + "' is at the first run of its history: nothing is before it");
  }
  for (const analysis::ChangeEvidence& each : issue.changes) {
    const results::RunHeader after = store->find_run(each.after.id).header;
    issue.commands.push_back(session::repeating_command(after, each.change.series));
  }
  if (!repository.empty()) {
    issue.between =
        list_commits(stacks::GitRepository(repository, context.stop), issue.changes.front());
  }
  return issue;
}

}  // namespace

void add_issue(CLI::App& app, CommandContext& context) {
  struct Options {
    std::string change;
    std::string output;
    std::string repository;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand(
      "issue", "write the text of an issue about a change: history, reproducer, suspects");
  command
      ->add_option("CHANGE",
                   options->change,
                   "SERIES@RUN as `plumb detect` and `plumb triage` list it, or @RUN for all that "
                   "changed in that run")
      ->required();
  command->add_option(
      "-o,--output", options->output, "file for the Markdown; default: standard output");
  command->add_option(
      "--git", options->repository, "list the commits of this git repository between the two runs");
  command->callback([&context, options] {
    const reporting::RegressionIssue issue =
        read_issue(context, options->change, options->repository);
    if (options->output.empty()) {
      reporting::write_issue(issue, std::cout);
      return;
    }
    write_whole_file(options->output,
                     [&](std::ostream& out) { reporting::write_issue(issue, out); });
    terminal::announce_report(options->output);
  });
}

}  // namespace plumb::cli
