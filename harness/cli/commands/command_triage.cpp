// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <tuple>

#include "harness/cli/command.hpp"
#include "harness/session/stored/stored_triage.hpp"
#include "harness/terminal/messages.hpp"
#include "reporting/content/review/triage_documents.hpp"

namespace plumb::cli {
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
  const std::vector<analysis::ChangeGroup> groups =
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
                   analysis::ChangeState::kAccepted,
                   "the new level is the baseline from here on"),
        std::tuple("invalid", analysis::ChangeState::kInvalid, "this was noise")}) {
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

}  // namespace plumb::cli
