// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <tuple>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/serve/review_comment.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/stored/stored_triage.hpp"
#include "harness/stacks/built/build_cache.hpp"
#include "harness/terminal/terminal.hpp"
#include "reporting/content/review/pull_request_comment.hpp"
#include "reporting/content/review/triage_documents.hpp"

namespace plumb::cli {
namespace {

struct CommentOptions {
  std::string result;  ///< BASE..CAND, or a file of `plumb qualify`; empty: no verdict
  std::string repository;
  std::int64_t pull_request = 0;
  std::string project;
  std::int64_t merge_request = 0;
  std::string api;
  std::string token_variable;
  std::string name = "plumbline";
  std::string report;
  std::vector<std::string> labels;
  bool no_verdict = false;
  bool dry_run = false;
};

/// Reads what `plumb qualify -o FILE.json` has written. Throws Error{kUser}.
analysis::QualificationReport read_qualification(const std::string& path) {
  constexpr std::streamsize kMaxBytes = 64 << 20;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() > kMaxBytes) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' cannot be read, or has more than {} MiB: name the JSON that "
                            "`plumb qualify -o FILE.json` wrote",
                            path,
                            kMaxBytes >> 20));
  }
  file.seekg(0);
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return {analysis::qualification_from_json(text.str()), {}};
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("'{}' is no result of `plumb qualify`: {}", path, error.what()));
  }
}

/// Returns the labels of a run, and those of this job that it does not have.
results::RunLabels with_labels_of(const results::RunHeader& run, results::RunLabels of_job) {
  results::RunLabels labels = results::run_labels(run.environment);
  labels.merge(of_job);
  return labels;
}

std::string stored_comment(const CommandContext& context,
                           const std::string& baseline,
                           const std::string& candidate,
                           reporting::CommentFrame frame) {
  const auto store = store::open_store(context.store_url());
  frame.labels = with_labels_of(store->find_run(candidate).header, frame.labels);
  if (const auto kept = session::kept_qualification(*store, baseline, candidate)) {
    return reporting::comment_text(*kept, frame);
  }
  const analysis::ComparisonReport report =
      session::kept_comparison({*store, context.models}, baseline, candidate);
  return reporting::comment_text(
      report,
      [&](const analysis::MetricComparison& metric) {
        return session::repeating_command(report.candidate.header, metric.series);
      },
      frame);
}

std::string text_of(const CommandContext& context, const CommentOptions& options) {
  reporting::CommentFrame frame{.name = options.name,
                                .labels = labels_of_run(options.labels),
                                .commits = context.commits(),
                                .report_address = options.report};
  if (options.no_verdict) {
    return reporting::comment_without_verdict(frame);
  }
  if (options.result.ends_with(".json")) {
    return reporting::comment_text(read_qualification(options.result), frame);
  }
  const auto runs = session::compared_runs(options.result);
  if (!runs) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is no result to comment on: name two runs as BASE..CAND, or the "
                            "JSON that `plumb qualify -o FILE.json` wrote",
                            options.result));
  }
  return stored_comment(context, runs->first, runs->second, std::move(frame));
}

serve::Review review_of(const CommentOptions& options) {
  const bool github = !options.repository.empty();
  if (!github && options.project.empty()) {
    throw Error(Error::Kind::kUser,
                "say where to comment: --github OWNER/REPOSITORY --pr N, or --gitlab PROJECT --mr "
                "N; --dry-run prints the comment");
  }
  serve::Review review{
      .forge = github ? serve::Review::Forge::kGithub : serve::Review::Forge::kGitlab,
      .api = options.api,
      .project = github ? options.repository : options.project,
      .number = github ? options.pull_request : options.merge_request};
  if (review.api.empty()) {
    review.api = session::environment_variable(github ? "GITHUB_API_URL" : "CI_API_V4_URL")
                     .value_or(github ? "https://api.github.com" : "https://gitlab.com/api/v4");
  }
  serve::check_review(review);
  return review;
}

void comment(CommandContext& context, const CommentOptions& options) {
  const bool name_is_plain =
      options.name.size() <= 64 &&
      options.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
  if (!name_is_plain || options.name.find("--") != std::string::npos) {
    throw Error(Error::Kind::kUser,
                fmt::format("a comment cannot be called '{}': use up to 64 of a-z, 0-9, '_' and "
                            "single '-'",
                            options.name));
  }
  if (!options.report.empty() && !results::is_web_address(options.report)) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is no address of http or https", options.report));
  }
  if (options.result.empty() != options.no_verdict) {
    throw Error(Error::Kind::kUser, "name a result to comment on, or --no-verdict without one");
  }
  if (options.dry_run) {
    std::cout << text_of(context, options);
    return;
  }
  const serve::Review review = review_of(options);
  const std::string variable = !options.token_variable.empty() ? options.token_variable
                               : review.forge == serve::Review::Forge::kGithub ? "GITHUB_TOKEN"
                                                                               : "GITLAB_TOKEN";
  const auto token = session::environment_variable(variable.c_str());
  if (!token || token->empty()) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the variable {} has no token: set it for this job, or name another "
                            "one with --token-variable",
                            variable));
  }
  const std::string text = text_of(context, options);
  const serve::Review::Comment put = serve::put_comment(
      review, *token, reporting::comment_marker(options.name), text, context.stop);
  terminal::say(fmt::format("{} the comment{}{}",
                            put.created ? "made" : "changed",
                            put.address.empty() ? "" : " ",
                            put.address));
}

}  // namespace

void add_comment(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<CommentOptions>();
  CLI::App* const command = app.add_subcommand(
      "comment", "put a result on a pull request as one comment, which later results change");
  command->add_option("RESULT",
                      options->result,
                      "a comparison or qualification of two stored runs, BASE..CAND, or the file "
                      "that `plumb qualify -o FILE.json` wrote");
  CLI::Option* const repository =
      command->add_option("--github", options->repository, "OWNER/REPOSITORY on GitHub");
  CLI::Option* const pull_request =
      command->add_option("--pr", options->pull_request, "number of the pull request")
          ->needs(repository);
  repository->needs(pull_request);
  CLI::Option* const project =
      command->add_option("--gitlab", options->project, "GROUP/PROJECT on GitLab, or its number")
          ->excludes(repository);
  CLI::Option* const merge_request =
      command->add_option("--mr", options->merge_request, "number of the merge request in it")
          ->needs(project);
  project->needs(merge_request);
  command->add_option("--api",
                      options->api,
                      "address of the interface, for a server of your own; default: what the CI "
                      "job's variables say");
  command->add_option("--token-variable",
                      options->token_variable,
                      "environment variable that has the token; default: GITHUB_TOKEN, or "
                      "GITLAB_TOKEN");
  command->add_option("--name", options->name, "name of the comment: a review has one of each name")
      ->capture_default_str();
  command->add_option("--report", options->report, "address of the whole report, which is linked");
  add_label_option(*command, options->labels);
  command->add_flag(
      "--no-verdict", options->no_verdict, "say that there is no result, for a job that failed");
  command->add_flag("--dry-run", options->dry_run, "print the comment, and send nothing");
  command->callback([&context, options] { comment(context, *options); });
}

namespace {

struct TriageOptions {
  std::string suite;
  std::string stack;
  bool all = false;
  std::vector<std::string> changes;
  session::TriageDecision decision;
  std::string assignee;
};

void list(const CommandContext& context, const TriageOptions& options) {
  const auto store = store::open_store(context.store_url());
  const std::vector<analysis::OpenChange::Group> groups =
      analysis::group_changes(session::read_open_changes(*store, options.suite, options.stack));
  reporting::write_triage(groups,
                          context.commits(),
                          context.output_mode(),
                          options.all ? reporting::Detail::kAll : reporting::Detail::kShort,
                          std::cout);
}

void decide(const CommandContext& context, TriageOptions& options) {
  if (options.decision.who.empty()) {
    options.decision.who = session::user_name();
  }
  const auto store = store::open_store(context.store_url());
  const std::size_t count = session::enter_decision(*store, options.changes, options.decision);
  terminal::say(fmt::format("entered for {} {}", count, count == 1 ? "change" : "changes"));
}

/// Adds a command that decides about changes, and returns it for its own options.
CLI::App& add_decision(CLI::App& triage,
                       CommandContext& context,
                       const std::shared_ptr<TriageOptions>& options,
                       const char* name,
                       const char* help) {
  CLI::App* const command = triage.add_subcommand(name, help);
  command
      ->add_option("CHANGE",
                   options->changes,
                   "SERIES@RUN, or @RUN for all that changed in that run; may be repeated")
      ->required();
  command->add_option("--who", options->decision.who, "who decides; default: the user's name");
  command->callback([&context, options] { decide(context, *options); });
  return *command;
}

}  // namespace

void add_triage(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<TriageOptions>();
  CLI::App* const triage = app.add_subcommand(
      "triage", "open changes of all suites by their likely cause, and what becomes of them");
  triage->require_subcommand(0, 1);
  triage->add_option("--suite", options->suite, "only changes of this suite");
  triage->add_option("--stack", options->stack, "only changes of this stack");
  triage->add_flag("--all", options->all, "every change of a group, and not only the largest five");
  const auto add = [&](const char* name, const char* help) -> CLI::App& {
    return add_decision(*triage, context, options, name, help);
  };
  for (const auto& [name, state, help] :
       {std::tuple("accept",
                   analysis::SeriesChange::State::kAccepted,
                   "the new level is the baseline from here on"),
        std::tuple("invalid", analysis::SeriesChange::State::kInvalid, "this was noise")}) {
    CLI::App& command = add(name, help);
    command.add_option("--reason", options->decision.reason, "why; it is stored")->required();
    command.preparse_callback(
        [options, decided = state](std::size_t) { options->decision.state = decided; });
  }
  add("assign", "somebody looks after it from here on")
      .add_option("--to", options->assignee, "who; 'nobody' takes it back")
      ->required()
      ->each([options](const std::string& name) {
        options->decision.assignee = name == "nobody" ? "" : name;
      });
  add("note", "something to remember about it")
      .add_option("--text", options->decision.note, "what; it is stored")
      ->required();
  triage->callback([&context, options, triage] {
    if (triage->get_subcommands().empty()) {
      list(context, *options);
    }
  });
}

namespace {

/// Lists the commits between two runs. That they are not known is no error: a CI's checkout often
/// lacks them, and the issue is wanted all the same.
reporting::RegressionIssue::Commits list_commits(const stacks::BuildCache::Repository& repository,
                                                 const analysis::ChangeEvidence& change) {
  constexpr std::size_t kMaxListed = 20;
  const std::string before = results::commit_of(change.before.environment);
  const std::string after = results::commit_of(change.after.environment);
  reporting::RegressionIssue::Commits between;
  if (!results::is_commit_hash(before) || !results::is_commit_hash(after)) {
    between.problem = fmt::format(
        "the two runs are of the commits '{}' and '{}', which are no hashes", before, after);
    return between;
  }
  try {
    stacks::BuildCache::Repository::Range range =
        repository.commits_between(before, after, kMaxListed);
    between.count = range.count;
    for (stacks::BuildCache::Repository::Commit& commit : range.newest) {
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
    issue.between = list_commits(stacks::BuildCache::Repository(repository, context.stop),
                                 issue.changes.front());
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
