// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/base/whole_file.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/report_files.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/stored_triage.hpp"
#include "reporting/content/review/regression_issue.hpp"

namespace plumb::cli {
namespace {

reporting::RegressionIssue read_issue(const CommandContext& context, const std::string& change) {
  const auto store = store::open_store(context.store_url());
  reporting::RegressionIssue issue{.changes = session::read_change_evidence(*store, change),
                                   .commands = {},
                                   .commits = context.commits()};
  if (issue.changes.empty()) {
    throw Error(Error::Kind::kUser,
                "'" + change + "' is at the first run of its history: nothing is before it");
  }
  for (const analysis::ChangeEvidence& each : issue.changes) {
    const results::RunHeader after = store->find_run(each.after.id).header;
    issue.commands.push_back(session::repeating_command(after, each.change.series));
  }
  return issue;
}

}  // namespace

void add_issue(CLI::App& app, CommandContext& context) {
  struct Options {
    std::string change;
    std::string output;
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
  command->callback([&context, options] {
    const reporting::RegressionIssue issue = read_issue(context, options->change);
    if (options->output.empty()) {
      reporting::write_issue(issue, std::cout);
      return;
    }
    write_whole_file(options->output,
                     [&](std::ostream& out) { reporting::write_issue(issue, out); });
    announce_report(options->output);
  });
}

}  // namespace plumb::cli
